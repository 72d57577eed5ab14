// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.CellActivation;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.Optional;

/** The activations of recurrent cells. */
public enum CellFunction {
  NONE,
  RELU,
  RELU1,
  RELU6,
  TANH,
  SIGMOID;

  /** Returns the one that an operation names; empty where it is not here. */
  public static Optional<CellFunction> of(CellActivation activation) {
    return activation == CellActivation.SIGN_BIT
        ? Optional.empty()
        : Optional.of(valueOf(activation.name()));
  }

  /**
   * Replaces x by its activation; changes two other registers.
   *
   * @param scratch the first of {@link FloatMath#SCRATCH} registers that may change too
   */
  void emit(Emitter emitter, Vector x, Vector s, Vector t, int scratch) {
    switch (this) {
      case NONE -> {}
      case RELU -> clamp(emitter, x, s, 0, Float.POSITIVE_INFINITY);
      case RELU1 -> clamp(emitter, x, s, -1, 1);
      case RELU6 -> clamp(emitter, x, s, 0, 6);
      case TANH -> Mapped.map(emitter, Kind.TANH, 0, x, s, t, scratch);
      case SIGMOID -> Mapped.map(emitter, Kind.LOGISTIC, 0, x, s, t, scratch);
    }
  }

  private static void clamp(Emitter emitter, Vector x, Vector bound, float least, float most) {
    Assembler a = emitter.assembler();
    a.load(Move.VMOVUPS, bound, emitter.all(least));
    a.emit(Binary.VMAXPS, x, bound, x);
    a.load(Move.VMOVUPS, bound, emitter.all(most));
    a.emit(Binary.VMINPS, x, bound, x);
  }
}
