// A slice at ctx.block along a dynamic extent is masked; a whole dimension and a static one that holds are not.
// CHECK: view %X, {{.*}}, {{.*}}, %M {bounds = [upper, none]} : view<f32>[16x64, global]
// CHECK: view %Y, {{.*}} {bounds = [none, none]} : view<f32>[16x64, global]
kernel k(X: tensor<f32>[M, 64], Y: tensor<f32>[16, 64]) {
  Y[:, :] = X[ctx.block.x * 16 :+ 16, :]
}
// -----
// A static extent masks what may pass it, also at a block: the grid is the host's.
// CHECK: [[FIFTY:%[0-9]+]] = const {value = 50}
// CHECK: view %X, {{.*}}, [[FIFTY]] {bounds = [upper, none]} : view<f32>[16x64, global] @[[#LINE:]]
// CHECK: view %X, {{.*}} {bounds = [none, none]} : view<f32>[16x64, global]
// CHECK: view %X, {{.*}}, [[FIFTY]] {bounds = [upper, none]} : view<f32>[16x64, global]
kernel k(X: tensor<f32>[50, 64], Y: tensor<f32>[16, 64]) {
  Y[:, :] = X[ctx.block.x * 16 :+ 16, :]
  Y[:, :] = X[34 :+ 16, :]
  Y[:, :] = X[35 :+ 16, :]
}
// -----
// A constant loop whose slices stay inside needs no mask; one whose last slice passes the end does.
// CHECK: view %X, %i, {{.*}} {bounds = [none, none]}
// CHECK: view %X, %j, {{.*}} {bounds = [upper, none]}
kernel k(X: tensor<f32>[50, 64], Y: tensor<f32>[16, 64]) {
  for i in range(2, 50, 16) { Y[:, :] = X[i :+ 16, :] }
  for j in range(0, 50, 16) { Y[:, :] = X[j :+ 16, :] }
}
// -----
// @aligned: whole tiles, and parts of a tile at a constant distance, need no mask; what straddles two tiles does.
// CHECK: rem %M, {{.*}} : index
// CHECK: trap_if {{.*}} {message = "@aligned: M is not a multiple of 16"}
// CHECK: view %X, {{.*}} {bounds = [none, none]} : view<f32>[16x64, global]
// CHECK: view %X, {{.*}} {bounds = [none, none]} : view<f32>[4x64, global]
// CHECK: view %X, {{.*}}, %M {bounds = [upper, none]} : view<f32>[8x64, global]
// CHECK: view %X, {{.*}}, %M {bounds = [upper, none]} : view<f32>[32x64, global]
// CHECK: view %X, {{.*}}, %M {bounds = [upper, none]} : view<f32>[16x64, global]
// CHECK: requires M % T == 0
@autotune(T in [16])
@aligned(M = T)
kernel k(X: tensor<f32>[M, 64], Y: tensor<f32>[32, 64]) {
  let row = ctx.block.x * T
  Y[0 :+ T, :] = X[row :+ T, :]
  Y[0 :+ 4, :] = X[row + 12 :+ 4, :]
  Y[0 :+ 8, :] = X[row + 12 :+ 8, :]
  Y[:, :] = X[ctx.block.x * 32 :+ 32, :]
  Y[0 :+ T, :] = X[row - T :+ T, :]
}
// -----
// @aligned and a loop over the extent by a divisor of the tile: nothing to mask.
// CHECK: view %X, %i, {{.*}} {bounds = [none, none]}
// CHECK: view %X, %j, {{.*}}, %M {bounds = [upper, none]}
@aligned(M = 32)
kernel k(X: tensor<f32>[M, 64], Y: tensor<f32>[16, 64]) {
  for i in range(0, M, 16) { Y[:, :] = X[i :+ 16, :] }
  for j in range(0, M, 12) { Y[:, :] = X[j :+ 16, :] }
}
// -----
// The promise holds for a dimension bound at compile time, and needs no trap there.
// WITH: M=64
// CHECK-NOT: trap_if
// CHECK: view %X, {{.*}} {bounds = [none, none]} : view<f32>[16x64, global]
@aligned(M = 16)
kernel k(X: tensor<f32>[M, 64], Y: tensor<f32>[16, 64]) {
  Y[:, :] = X[ctx.block.x * 16 :+ 16, :]
}
// -----
// A bound dimension that breaks the promise.
// WITH: M=40
// CHECK: error broken-constraint: {{.*}}M{{.*}}16
@aligned(M = 16)
kernel k(X: tensor<f32>[M, 64], Y: tensor<f32>[16, 64]) {
  Y[:, :] = X[ctx.block.x * 16 :+ 16, :]
}
// -----
// A slice of a view is masked by the view's end and the tensor's, and by the view's start where it may lie before it.
// CHECK:     [[ROW:%[0-9]+]] = mul
// CHECK:     add [[ROW]]
// CHECK:     [[END:%[0-9]+]] = add [[ROW]], {{.*}} : index
// CHECK:     [[BOTH:%[0-9]+]] = min %M, [[END]] : index
// CHECK:     view %X, {{.*}}, [[BOTH]] {bounds = [upper, none]} : view<f32>[8x64, global]
// CHECK:     view %X, {{.*}}, %M {bounds = [upper, none]} : view<f32>[8x64, global]
// CHECK:     view %X, {{.*}}, {{.*}}, [[ROW]], {{.*}} {bounds = [both, none]} : view<f32>[8x64, global]
kernel k(X: tensor<f32>[M, 64], Y: tensor<f32>[8, 64]) {
  let v = X[ctx.block.x * 16 :+ 16, :]
  Y[:, :] = v[12 :+ 8, :]
  Y[:, :] = v[8 :+ 8, :]
  Y[:, :] = v[ctx.block.y - 4 :+ 8, :]
}
// -----
// `A[s:]` is never masked, and neither is a point; a point among slices is.
// CHECK: view %V, {{.*}} {bounds = [none]} : view<f32>[48, global]
// CHECK: [[N:%[0-9]+]] = convert %n : index
// CHECK: load_point %V, {{.*}}, %V.t : f32
// CHECK: store_point %V, [[N]]
// CHECK: view %X, {{.*}}, %M {bounds = [upper, none]} : view<f32>[1x64, global]
kernel k(V: tensor<f32>[64], X: tensor<f32>[M, 64], Y: tensor<f32>[1, 64], n: i32) {
  let tail = V[16:]
  var t: tile<f32>[48] = tail + 1.0
  V[n] = t[3] + V[ctx.block.x]
  Y[:, :] = X[ctx.block.x :+ 1, :]
}
