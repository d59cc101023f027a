// One of each kind of name.
// <- comment

@autotune(TILE_M in [16, 32])
// <- attribute
//        ^ constant
//               ^ keyword.repeat
//                   ^ number
@aligned(M = TILE_M)
//       ^ property
//           ^ constant
kernel scale(A: tensor<f32>[M, 64], factor: f32) {
// <- keyword.function
//     ^ function
//           ^ variable.parameter
//              ^ type.builtin
//                     ^ type.builtin
//                                  ^ variable.parameter
  let row = ctx.block.x * TILE_M
//^ keyword
//    ^ variable
//        ^ operator
//          ^ variable.builtin
//              ^ variable.member
//                      ^ operator
//                        ^ constant
  var t: tile<f32>[TILE_M, 64] = 0.5
//       ^ type.builtin
//           ^ punctuation.bracket
//                               ^ number.float
  for<unroll 4> i in range(0, 64) {
//^ keyword.repeat
//    ^ keyword.repeat
//                   ^ keyword.repeat
    if i < 3 && true {
//  ^ keyword.conditional
//              ^ boolean
      continue
//    ^ keyword.repeat
    }
  }
  let s = sum<over ctx.lane, width 8>(factor)
//        ^ function.builtin
//            ^ keyword.modifier
//                           ^ keyword.modifier
  A[row :+ TILE_M, :] = exp(twice(t))
//                      ^ function.builtin
//                          ^ function.call
  return
//^ keyword.return
}

fn twice(x) = x + x
// <- keyword.function
// ^ function
//       ^ variable.parameter
