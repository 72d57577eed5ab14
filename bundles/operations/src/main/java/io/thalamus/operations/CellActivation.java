// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/** The activation within a recurrent cell. Numbers as in NNAPI. */
public enum CellActivation {
  NONE(0),
  RELU(1),
  RELU1(2),
  RELU6(3),
  TANH(4),
  SIGN_BIT(5),
  SIGMOID(6);

  private final int code;

  CellActivation(int code) {
    this.code = code;
  }

  static CellActivation ofCode(int code) throws ValidationException {
    for (CellActivation activation : values()) {
      if (activation.code == code) {
        return activation;
      }
    }
    throw new ValidationException("there is no activation " + code + " of a recurrent cell");
  }

  /** The activation of one value; functions are computed in double and rounded once. */
  public float apply(float value) {
    return switch (this) {
      case NONE -> value;
      case RELU -> Math.max(value, 0);
      case RELU1 -> Math.min(Math.max(value, -1), 1);
      case RELU6 -> Math.min(Math.max(value, 0), 6);
      case TANH -> (float) Math.tanh(value);
      case SIGN_BIT -> Math.copySign(1, value) < 0 ? 1 : 0;
      case SIGMOID -> sigmoid(value);
    };
  }

  /** {@code 1 / (1 + e^-value)}, which gates are made with. */
  public static float sigmoid(float value) {
    return (float) (1 / (1 + Math.exp(-value)));
  }
}
