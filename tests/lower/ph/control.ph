// A loop carries the scalars and the buffers that its body assigns, and nothing else.
// CHECK: for {{.*}} : token, index @{{[0-9]+}} (%i: index, [[T:%[^ ,:]+]]: token, %n: index) {
// CHECK:   store {{.*}}, [[T]] : token
// CHECK:   add %n, {{.*}} : index
// CHECK:   yield
kernel k(X: tensor<f32>[64, 64], Y: tensor<f32>[64, 64]) {
  var n = 0
  let m = ctx.block.x
  var t: tile<f32>[16, 64] = 0.0
  for i in range(0, 64, 16) {
    t = X[i :+ 16, :]
    let u = n + m
    n += 1
  }
  Y[0 :+ 16, :] = t * f32(n)
}
// -----
// After a break the iterations left do nothing; after a continue the rest of the iteration does nothing.
// CHECK:     [[NO:%[0-9]+]] = const {value = false} : bool
// CHECK:     [[YES:%[0-9]+]] = const {value = true} : bool
// CHECK:     for {{.*}}, [[NO]], %Y.t {until = [0]} : bool, token {{.*}} (%i: index, [[LEFT:%[^ ,:]+]]: bool, [[T:%[^ ,:]+]]: token) {
// CHECK:       [[ON:%[^ ,]+]] = not [[LEFT]] : bool
// CHECK:       if [[ON]] : bool, bool, token {{.*}} {
// CHECK:         load_point %X, %i
// CHECK:         if {{.*}} : bool {{.*}} {
// CHECK:           yield [[YES]]
// CHECK:         } {
// CHECK:           yield [[NO]]
// CHECK:         }
// CHECK:         [[GO:%[^ ,]+]] = not
// CHECK:         if [[GO]] : bool, token {{.*}} {
// CHECK:           if {{.*}} : bool {{.*}} {
// CHECK:             yield [[YES]]
// CHECK:           } {
// CHECK:             yield [[LEFT]]
// CHECK:           }
// CHECK:           if {{.*}} : token {{.*}} {
// CHECK:             store_point %Y, %i
// CHECK:       } {
// CHECK:         yield [[NO]], [[LEFT]], [[T]]
// CHECK:       }
kernel k(X: tensor<i32>[N], Y: tensor<i32>[N]) {
  for i in range(0, N) {
    if X[i] == 3 { continue }
    if X[i] == 4 { break }
    Y[i] = 1
  }
}
// -----
// A while stops at its next test without evaluating its condition again, which may load out of bounds.
// CHECK: while
// CHECK:   [[STILL:%[^ ,]+]] = not
// CHECK:   [[C:%[^ ,]+]] = if [[STILL]] : bool {{.*}} {
// CHECK:     load_point %X
// CHECK:   } {
// CHECK:     yield {{.*}}
// CHECK:   }
// CHECK:   yield [[C]],
kernel k(X: tensor<i32>[N], Y: tensor<i32>[N]) {
  var i = 0
  while X[i] > 0 {
    if i == N - 1 { break }
    i += 1
  }
  Y[0] = i
}
// -----
// A return in a loop makes the rest of the loop and of the kernel do nothing.
// CHECK: [[END:%[^ ,]+]] = for {{.*}} : bool
// CHECK: [[ON:%[^ ,]+]] = not [[END]] : bool
// CHECK: if [[ON]] : token
// CHECK:   store_point %Y
kernel k(X: tensor<i32>[N], Y: tensor<i32>[N]) {
  for i in range(0, N) {
    if X[i] == 3 { return }
  }
  Y[0] = 1
}
// -----
// A branch on what the configuration fixes is chosen here.
// WITH: T=32
// CHECK-NOT: if
// CHECK: splat {{.*}} : tile<f32>[32x64]
// CHECK: mul
// CHECK-NOT: if
@autotune(T in [16, 32])
kernel k(X: tensor<f32>[64, 64]) {
  if T == 16 { X[0 :+ T, :] = 1.0 } else { X[0 :+ T, :] = X[0 :+ T, :] * 2.0 }
}
// -----
// A branch yields what either side assigns.
// CHECK: [[S:%[^ ,]+]], [[T:%[^ ,]+]] = if %b : f32, token {{.*}} {
// CHECK:   yield {{.*}}
// CHECK: } {
// CHECK:   yield {{.*}}
// CHECK: }
// CHECK: splat [[S]]
kernel k(X: tensor<f32>[16, 64], b: bool) {
  var s = 1.0
  var t: tile<f32>[16, 64] = 0.0
  if b { s = 2.0 } else { t = X[:, :] }
  X[:, :] = t * s
}
// -----
// The copies of an unrolled loop are made later; the factor is a constant of the configuration.
// WITH: U=4
// CHECK: for {{.*}} {unroll = 4}
// CHECK: for {{[^{]*}} (%j
@autotune(U in [1, 4])
kernel k(Y: tensor<i32>[64]) {
  for<unroll U> i in range(0, 64) { Y[i] = i }
  for<unroll 1> j in range(0, 64) { Y[j] = j }
}
