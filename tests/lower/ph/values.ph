// Math is computed in f32 and rounded; abs stays in its type; pow is exp(b * log(a)).
// CHECK: [[X:%[^ ,]+]] = load {{.*}} : tile<f16>[8x8]
// CHECK: [[W:%[^ ,]+]] = convert [[X]] : tile<f32>[8x8]
// CHECK: [[E:%[^ ,]+]] = math [[W]] {function = exp} : tile<f32>[8x8]
// CHECK: convert [[E]] : tile<f16>[8x8]
// CHECK: math {{.*}} {function = abs} : tile<f16>[8x8]
// CHECK: [[L:%[^ ,]+]] = math {{.*}} {function = log} : tile<f32>[8x8]
// CHECK: [[M:%[^ ,]+]] = mul {{.*}}, [[L]] : tile<f32>[8x8]
// CHECK: math [[M]] {function = exp} : tile<f32>[8x8]
kernel k(X: tensor<f16>[8, 8], Y: tensor<f32>[8, 8]) {
  X[:, :] = exp(X[:, :])
  X[:, :] = abs(X[:, :])
  Y[:, :] = pow(Y[:, :], 2.5)
}
// -----
// Unary minus is 0 - t on a tile, and a sign flip on a scalar.
// CHECK: [[Z:%[^ ,]+]] = splat {{.*}} : tile<f32>[8x8]
// CHECK: sub [[Z]], {{.*}} : tile<f32>[8x8]
// CHECK: neg %s : f32
kernel k(Y: tensor<f32>[8, 8], s: f32) {
  Y[:, :] = -Y[:, :]
  Y[0, 0] = -s
}
// -----
// A loaded integer of any width is an index; a store of one wraps to the element.
// CHECK: [[B:%[^ ,]+]] = load_point %B, {{.*}} : u8
// CHECK: [[I:%[^ ,]+]] = convert [[B]] : index
// CHECK: add [[I]], {{.*}} : index
// CHECK: convert {{.*}} : u8
// CHECK: store_point %B
kernel k(B: tensor<u8>[64]) {
  B[1] = B[0] + 250
}
// -----
// An accumulated point reads, adds and writes at one index, which is computed once.
// CHECK: [[I:%[^ ,]+]] = convert {{.*}} : index
// CHECK: [[OLD:%[^ ,]+]] = load_point %X, [[I]], %X.t : f32
// CHECK: add [[OLD]], {{.*}} : f32
// CHECK: store_point %X, [[I]]
// CHECK-NOT: load_point %I
kernel k(X: tensor<f32>[N], I: tensor<i32>[M]) {
  X[I[3]] += 1.0
}
// -----
// flat is the same buffer in another shape, and its stores are in the same chain.
// CHECK: %t, [[T0:%[^ ,]+]] = alloc {{.*}} : mem<f32>[4x8, shared], token
// CHECK: [[F:%[^ ,]+]] = flat %t : mem<f32>[1x32, shared]
// CHECK: [[T1:%[^ ,]+]] = store_point [[F]], {{.*}} : token
// CHECK: load {{.*}}, [[T1]] : tile<f32>[4x8]
kernel k(Y: tensor<f32>[4, 8]) {
  var t: tile<f32>[4, 8] = 0.0
  let f = flat(t)
  f[0, 9] = 1.0
  Y[:, :] = t
}
// -----
// A view reads the bytes as they are then; its offset is evaluated where it is bound.
// CHECK: [[ROW:%[^ ,]+]] = mul {{.*}} : index
// CHECK: [[A1:%[^ ,]+]] = store {{.*}} : token
// CHECK: view %A, [[ROW]], {{.*}}
// CHECK: load {{.*}}, [[A1]]
kernel k(A: tensor<f32>[64, 8], Y: tensor<f32>[8, 8]) {
  var n = ctx.block.x
  let v = A[n * 8 :+ 8, :]
  n = 3
  A[0 :+ 8, :] = 0.0
  Y[:, :] = v
}
// -----
// The attributes whose fast path comes later say so.
// CHECK: decision @tensorcore: CUDA cores --
// CHECK: decision @registers(acc): shared memory --
@launch(64)
@tensorcore
@registers(acc)
kernel k(A: tensor<f16>[16, 16], C: tensor<f32>[16, 16]) {
  var acc: tile<f32>[16, 16] = 0.0
  acc += dot(A[:, :], A[:, :])
  C[:, :] = acc
}
// -----
// Where, iota and broadcasting: a row and a column are stretched to the tile that is assigned.
// CHECK: iota {axis = 1} : tile<i32>[8x16]
// CHECK: convert {{.*}} : tile<index>[8x16]
// CHECK: [[C:%[^ ,]+]] = cmp {{.*}} {predicate = lt} : tile<bool>[8x16]
// CHECK: [[M:%[^ ,]+]] = broadcast {{.*}} : tile<f32>[8x16]
// CHECK: [[D:%[^ ,]+]] = sub {{.*}}, [[M]] : tile<f32>[8x16]
// CHECK: select [[C]], [[D]], {{.*}} : tile<f32>[8x16]
kernel k(X: tensor<f32>[8, 16]) {
  var t = X[:, :]
  var m: tile<f32>[8, 1] = rowmax(t)
  t = where(iota(1) < ctx.block.x, t - m, 0.0)
  X[:, :] = t
}
