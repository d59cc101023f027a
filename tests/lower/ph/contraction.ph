// A contraction over a dynamic extent walks it 16 at a time into a temporary.
// CHECK: %dot, {{.*}} = alloc {name = dot, stages = 1} : mem<f32>[16x32, shared], token
// CHECK: for {{.*}}, %K, {{.*}} : token {{.*}} ([[K:%[0-9]+]]: index
// CHECK:   view %A, {{.*}}, [[K]], %K {bounds = [none, upper]} : view<f16>[16x16, global]
// CHECK:   view %B, [[K]], {{.*}}, %K {bounds = [upper, none]} : view<f16>[16x32, global]
// CHECK:   dot {{.*}} {transposed = false} : tile<f32>[16x32]
// CHECK:   add
// CHECK: convert {{.*}} : tile<f16>[16x32]
// CHECK: decision dot: K walked 16 at a time -- K is known at launch only
kernel k(A: tensor<f16>[16, K], B: tensor<f16>[K, 32], C: tensor<f16>[16, 32]) {
  C[:, :] = dot(A[:, :], B[:, :])
}
// -----
// TILE_K is the step where it is bound; an accumulated product adds to a declared tile in place.
// WITH: TILE_K=32
// CHECK: %acc, {{.*}} = alloc {name = acc
// CHECK-NOT: alloc
// CHECK: for {{.*}}, %K, {{.*}} : token {{.*}} ([[K:%[0-9]+]]: index
// CHECK:   view %A, {{.*}} : view<f32>[16x32, global]
// CHECK:   view %B, {{.*}} : view<f32>[8x32, global]
// CHECK:   dot {{.*}} {transposed = true} : tile<f32>[16x8]
// CHECK:   load {{.*}} : tile<f32>[16x8]
// CHECK-NOT: alloc
@autotune(TILE_K in [16, 32])
kernel k(A: tensor<f32>[16, K], B: tensor<f32>[8, K], C: tensor<f32>[16, 8]) {
  var acc: tile<f32>[16, 8] = 1.0
  acc += dot_t(A[:, :], B[:, :])
  C[:, :] = acc
}
// -----
// A static extent whose slices fit is one dot.
// CHECK-NOT: for
// CHECK: dot {{.*}} : tile<f32>[16x32]
kernel k(A: tensor<f32>[16, 64], B: tensor<f32>[64, 32], C: tensor<f32>[16, 32]) {
  C[:, :] = dot(A[:, :], B[:, :])
}
// -----
// A static extent whose slices do not fit is walked; a computed operand is walked in steps that divide the extent.
// CHECK: for
// CHECK:   view %A, {{.*}} : view<f32>[32x16, global]
// CHECK: for
// CHECK:   view %A, {{.*}} {bounds = [none, none]} : view<f32>[32x8, global]
// CHECK:   math {{.*}} {function = exp} : tile<f32>[32x8]
// CHECK: decision dot: K walked 16 at a time -- slices of all of it do not fit the 48 KB of shared memory
// CHECK: decision dot: K walked 8 at a time
kernel k(A: tensor<f32>[32, 1000], B: tensor<f32>[1000, 32], C: tensor<f32>[32, 32]) {
  C[:, :] = dot(A[:, :], B[:, :])
  C[:, :] = dot(exp(A[:, :]), B[:, :])
}
// -----
// Tiles in shared memory are not staged, so their extent is not walked; an operand that reads the target goes through
// a temporary.
// CHECK-NOT: for
// CHECK: dot {{.*}} : tile<i32>[8x8]
// CHECK-NOT: for
kernel k(A: tensor<i8>[8, 2048], C: tensor<i32>[8, 8]) {
  var a = A[:, :]
  C[:, :] = dot_t(a, a)
}
