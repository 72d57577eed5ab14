// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Two rows of stored bytes made a group of weights of a {@link StoredProduct} of words: each less
 * the zero point, beside the one below it, where {@link Rescale#position} has its channel. A block
 * is two rows.
 *
 * @param length of the vectors of the panel
 * @param channels bytes of a row
 * @param isSingle whether there is no second row, whose words are 0
 * @param rowStep bytes from one row to the next
 * @param zeroPoint of the source
 * @param isSigned whether the source is
 */
public record PairedRows(
    Length length, int channels, boolean isSingle, int rowStep, int zeroPoint, boolean isSigned)
    implements FunctionSource {
  private static final int AT_ONCE = Rescale.pair(Length.YMM);
  private static final Vector FIRST = new Vector(Length.YMM, 0);
  private static final Vector SECOND = new Vector(Length.YMM, 1);
  private static final Vector PAIRED = new Vector(Length.YMM, 2);

  /** Returns the function: o0 is the first row, o1 the group. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    Label again = a.label();
    for (int channel = 0; channel < channels; channel += AT_ONCE) {
      int count = Math.min(AT_ONCE, channels - channel);
      load(emitter, FIRST, channel, count);
      if (isSingle) {
        a.emit(Binary.VXORPS, SECOND, SECOND, SECOND);
      } else {
        load(emitter, SECOND, rowStep + channel, count);
      }
      a.emit(Binary.VPUNPCKLWD, PAIRED, FIRST, SECOND);
      a.store(Move.VMOVUPS, Address.at(Gpr.RCX, place(channel)), PAIRED);
      a.emit(Binary.VPUNPCKHWD, PAIRED, FIRST, SECOND);
      a.store(Move.VMOVUPS, Address.at(Gpr.RCX, place(channel) + length.bytes()), PAIRED);
    }
    int last = (channels - 1) / AT_ONCE * AT_ONCE;
    return emitter.endBlocks(
        again,
        new Extent((isSingle ? 0 : rowStep) + (long) channels, 2L * rowStep),
        new Extent(place(last) + (long) length.bytes() + Length.YMM.bytes(), group()));
  }

  private void load(Emitter emitter, Vector to, int at, int count) {
    Assembler a = emitter.assembler();
    Vector bytes = to.as(Length.XMM);
    Bytes.load(a, bytes, Gpr.RDX, at, count);
    a.emit(isSigned ? Unary.VPMOVSXBW : Unary.VPMOVZXBW, to, bytes);
    a.emit(Binary.VPSUBW, to, to, Rescale.words(emitter, Length.YMM, zeroPoint));
  }

  /** Returns where the lower half of the words of some channels stands. */
  private int place(int channel) {
    int pair = Rescale.pair(length);
    return channel / pair * 2 * length.bytes() + channel % pair / AT_ONCE * Length.YMM.bytes();
  }

  /** Returns the bytes of the vectors of all channels. */
  private int group() {
    return Math.ceilDiv(channels, Rescale.pair(length)) * 2 * length.bytes();
  }
}
