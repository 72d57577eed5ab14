// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.reader.ModelFile;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The value that is fed for a pixel's value of 0 to 255: {@code fed = (value - mean) / std}, in
 * real numbers, which a quantized input then stores as integers. Immutable.
 *
 * @param mean one number, or one for each channel
 * @param std as many
 * @param reason why it is so, for people
 */
public record Normalization(float[] mean, float[] std, String reason) {
  /** Ranges in which quantized models were trained, in the order in which they are tried. */
  private static final double[][] RANGES = {{-1, 1}, {0, 1}, {0, 255}};

  /** The accepted distance of a range's end: 1/128 as scale makes [-1, 1] end at 0.992. */
  private static final double TOLERANCE = 0.02;

  /** Takes the numbers of the caller: one number each, or one for each channel. */
  public static Normalization given(float[] mean, float[] std) {
    return new Normalization(mean, std, "given");
  }

  /**
   * Reads the numbers of the model itself: first the real range of a quantized input, where it is
   * about [-1, 1], [0, 1] or [0, 255]; such an input takes the bytes as they are. Then the file's
   * metadata.
   *
   * @param stated what the model's file states of the input
   */
  public static Optional<Normalization> known(
      Operand input, Optional<ModelFile.Normalization> stated) {
    Optional<Normalization> fixed = ofRange(input);
    return fixed.isPresent()
        ? fixed
        : stated.map(
            value ->
                new Normalization(
                    new float[] {value.mean()},
                    new float[] {value.std()},
                    "stated by the model file"));
  }

  private static Optional<Normalization> ofRange(Operand input) {
    int least;
    if (input.type() == OperandCode.TENSOR_QUANT8_ASYMM) {
      least = 0;
    } else if (input.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED) {
      least = Byte.MIN_VALUE;
    } else {
      return Optional.empty();
    }
    Quantization quantization = input.quantization();
    double scale = quantization.scale();
    double low = (least - quantization.zeroPoint()) * scale;
    double high = low + 255 * scale;
    for (double[] range : RANGES) {
      double allowed = TOLERANCE * (range[1] - range[0]);
      if (Math.abs(low - range[0]) <= allowed && Math.abs(high - range[1]) <= allowed) {
        String reason =
            "bytes as they are: the quantized input's real range is "
                + end(low)
                + " to "
                + end(high);
        return Optional.of(
            new Normalization(
                new float[] {quantization.zeroPoint() - least},
                new float[] {(float) (1 / scale)},
                reason));
      }
    }
    return Optional.empty();
  }

  /** Returns true if it can be used for this many channels. */
  public boolean fits(int channels) {
    return fits(mean, channels) && fits(std, channels);
  }

  private static boolean fits(float[] values, int channels) {
    return values.length == 1 || values.length == channels;
  }

  /** Returns the value that is fed for a value in a channel. */
  public float apply(int value, int channel) {
    return (value - mean[mean.length == 1 ? 0 : channel]) / std[std.length == 1 ? 0 : channel];
  }

  /** Returns the value that was fed as this, the inverse of {@link #apply}. */
  double invert(double fed, int channel) {
    return fed * std[std.length == 1 ? 0 : channel] + mean[mean.length == 1 ? 0 : channel];
  }

  /** For people: {@code (value - 127.5) / 127.5}. */
  public String formula() {
    return "(value - " + text(mean) + ") / " + text(std);
  }

  private static String text(float[] values) {
    return IntStream.range(0, values.length)
        .mapToObj(i -> number(values[i]))
        .collect(Collectors.joining(","));
  }

  /**
   * Returns the end of a range, which is 0 or at least a 256th: as {@link #number}, without what
   * that has to compute first, since this is on the way to a first result.
   */
  private static String end(double value) {
    double rounded = Math.rint(value * 1e4) / 1e4;
    return rounded == (long) rounded ? Long.toString((long) rounded) : Double.toString(rounded);
  }

  private static String number(double value) {
    return new BigDecimal(value).round(new MathContext(4)).stripTrailingZeros().toPlainString();
  }
}
