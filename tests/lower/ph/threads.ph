// A barrier takes the tokens of what threads store to on their own, and of nothing else.
// CHECK: [[S:%[^ ,]+]] = store_point %s, {{.*}} {each = true} : token
// CHECK: [[NEXT:%[^ ,]+]] = sync [[S]] : token
// CHECK: load_point %s, {{.*}}, [[NEXT]] : f32
// CHECK: store_point %Y, {{.*}}, %Y.t : token
kernel k(X: tensor<f32>[256], Y: tensor<f32>[4]) {
  let t = ctx.thread
  var s: tile<f32>[1, 256]
  var w: tile<f32>[1, 256] = 1.0
  s[0, t] = X[t]
  barrier()
  let a = s[0, 255]
  Y[0] = a
}
// -----
// An atomic is done by the first thread between two barriers, and its result goes to the others.
// CHECK: [[M:%[^ ,]+]], [[T:%[^ ,]+]] = alloc {name = atomic_add, stages = 1, temporary = true} : mem<i32>[1, shared], token
// CHECK: [[C:%[^ ,]+]], {{.*}} = sync %C.t, %Y.t : token, token
// CHECK: [[FIRST:%[^ ,]+]] = cmp {{.*}} {predicate = eq} : bool
// CHECK: [[C2:%[^ ,]+]], [[T2:%[^ ,]+]] = if [[FIRST]] : token, token {{.*}} {
// CHECK:   [[OLD:%[^ ,]+]], [[C1:%[^ ,]+]] = atomic_add %C, {{.*}}, [[C]] : i32, token
// CHECK:   [[T1:%[^ ,]+]] = store_point [[M]], {{.*}}, [[OLD]], [[T]] {each = true} : token
// CHECK:   yield [[C1]], [[T1]]
// CHECK: } {
// CHECK:   yield [[C]], [[T]]
// CHECK: }
// CHECK: [[C3:%[^ ,]+]], {{.*}}, [[T3:%[^ ,]+]] = sync [[C2]], {{.*}}, [[T2]] : token, token, token
// CHECK: load_point [[M]], {{.*}}, [[T3]] : i32
kernel k(C: tensor<i32>[1], Y: tensor<i32>[1]) {
  let ticket = atomic_add(C, 0, 1)
  Y[0] = ticket
}
// -----
// What stands after a flag is read after it: every tensor has another token then, in the loop that waits too.
// CHECK: while %F.t, %X.t, %Y.t : token, token, token {{.*}} ([[F:%[^ ,:]+]]: token, [[X:%[^ ,:]+]]: token, {{.*}}) {
// CHECK:   sync [[F]], [[X]], {{.*}} : token, token, token
// CHECK:   load_acquire %F
// CHECK:   [[N:%[^ ,]+]], [[M:%[^ ,]+]], {{.*}} = sync
// CHECK:   yield {{.*}}, [[N]], [[M]]
// CHECK: load_point %X, {{.*}}, %{{[0-9]+}} : f32
kernel k(F: tensor<i32>[1], X: tensor<f32>[4], Y: tensor<f32>[4]) {
  while load_acquire(F, 0) == 0 {}
  Y[0] = X[0]
}
// -----
// A barrier of the grid: other blocks may have stored to what this kernel stores to, by tiles as well.
// CHECK: store {{.*}}
// CHECK: sync %B.t, %{{[0-9]+}}, %Z.t : token, token, token
// CHECK: grid_sync %B, %{{[0-9]+}}, {{.*}} : token
// CHECK: %{{[0-9]+}}, [[Y:%[0-9]+]], {{.*}} = sync {{.*}} : token, token, token
// CHECK: load_point %Y, {{.*}}, [[Y]] : f32
@persistent
kernel k(X: tensor<f32>[64], Y: tensor<f32>[64], B: tensor<i32>[2], Z: tensor<f32>[1]) {
  Y[0 :+ 64] = X[0 :+ 64]
  grid_barrier(B)
  Z[0] = Y[63]
}
// -----
// A fold over a warp is a butterfly; an index known to fit goes as an i32, by one instruction where there is one.
// CHECK-COUNT-5: shuffle {{.*}} {mode = xor, width = 32} : f32
// CHECK-NOT: shuffle
// CHECK: [[N:%[^ ,]+]] = convert {{.*}} : i32
// CHECK: redux [[N]] {kind = sum} : i32
// CHECK-COUNT-2: shuffle {{.*}} {mode = xor, width = 4} : i32
// CHECK: vote {{.*}} {kind = any} : bool
// CHECK: ballot {{.*}} : u32
kernel k(X: tensor<f32>[256], Q: tensor<i8>[256], Y: tensor<f32>[256], Z: tensor<i32>[4, 256]) {
  let t = ctx.thread
  let a = X[t]
  let q = Q[t]
  Y[t] = sum<over ctx.lane>(a)
  Z[0, t] = sum<over ctx.lane>(q)
  Z[1, t] = max<over ctx.lane, width 4>(q)
  Z[2, t] = where(any<over ctx.lane>(a > 0.0), 1, 0)
  Z[3, t] = where(all<over ctx.lane, width 8>(a > 0.0), 1, 0)
}
// -----
// A fold over the CTA: each warp's result through shared memory, between three barriers.
// CHECK-COUNT-5: shuffle
// CHECK: sync
// CHECK: if {{.*}} : token
// CHECK:   store_point {{.*}} {each = true}
// CHECK: sync
// CHECK: load_run {{.*}} {axis = 0} : run<f32>[8]
// CHECK-COUNT-7: add {{.*}} : f32
// CHECK: sync
kernel k(X: tensor<f32>[256], Y: tensor<f32>[256]) {
  Y[ctx.thread] = sum<over ctx.thread>(X[ctx.thread])
}
// -----
// A source that is known to lie in the piece is shuffled from as it is; else the lane reads itself instead.
// CHECK: shuffle {{.*}} {mode = xor, width = 32} : f32
// CHECK-NOT: select
// CHECK: [[IN:%[^ ,]+]] = and {{.*}} : bool
// CHECK: select [[IN]], {{.*}} : index
// CHECK: shuffle {{.*}} {mode = from, width = 8} : f32
kernel k(X: tensor<f32>[256], Y: tensor<f32>[256], n: i32) {
  let t = ctx.thread
  let x = X[t]
  Y[t] = shfl<xor 3>(x)
  Y[t] = shfl<down n, width 8>(x)
}
// -----
// Sums of bytes are dp4a on words: products, one side masked or shifted, one run alone against ones. Others are per
// element.
// CHECK-COUNT-4: dp4a {{.*}} : i32
// CHECK: shr {{.*}} : u32
// CHECK: and {{.*}} : u32
// CHECK: dp4a {{.*}} : i32
// CHECK: [[ONES:%[^ ,]+]]
// CHECK: dp4a {{.*}} : i32
// CHECK-NOT: dp4a
// CHECK: run_element {{.*}} {position = 3} : i8
kernel k(A: tensor<i8>[256, 16], Y: tensor<i32>[256]) {
  let t = ctx.thread
  var n = 0
  n += sum(i32(A[t, 0 :+ 16]) * i32(A[0, 0 :+ 16]))
  n += sum(((A[t, 0 :+ 4] >> 4) & 15) * i32(A[0, 0 :+ 4]))
  n += sum(i32(A[t, 0 :+ 4]))
  n += sum(A[t, 0 :+ 4] * A[0, 0 :+ 4] * 3)
  Y[t] = n
}
// -----
// A long sum is a loop over parts of it.
// CHECK: for {{.*}} : f32
// CHECK: load_run %A, {{.*}} {axis = 1} : run<f32>[32]
// CHECK: load_run %A, {{.*}} {axis = 1} : run<f32>[4]
kernel k(A: tensor<f32>[256, 100], Y: tensor<f32>[256]) {
  Y[ctx.thread] = sum(A[ctx.thread, 0 :+ 100])
}
// -----
// A dp4a sums in 32 bits where that is exact: from a known start, and into an i32.
// CHECK-COUNT-2: dp4a {{.*}} : i32
// CHECK-NOT: add {{.*}}
// CHECK: dp4a %{{[0-9]+}}, %{{[0-9]+}}, %acc : i32
// CHECK-NOT: add {{.*}}
// CHECK: dp4a {{.*}} : i32
// CHECK: add {{.*}} : index
kernel k(W: tensor<i8>[256, 8], Y: tensor<i32>[256], Z: tensor<i64>[256], n: i32) {
  let t = ctx.thread
  let a = word(W[t, 0 :+ 8], 0)
  let b = word(W[t, 0 :+ 8], 1)
  Z[t] = dp4a(a, b, dp4a(b, b, 7))
  var acc: i32 = n
  for i in range(0, n) { acc = dp4a(a, b, acc) }
  Z[t] = dp4a(a, b, Z[t])
  Y[t] = acc
}
