// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.api.Tensor;
import io.thalamus.console.Json;
import io.thalamus.console.text.Units;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * A value in a few real numbers. Immutable.
 *
 * @param least the least element that is a number
 * @param most the largest element that is a number
 * @param mean of the elements that are numbers
 * @param notNumbers how many elements are NaN
 * @param first the first elements, for people
 * @param numeric whether the elements are known to be numbers at all
 */
public record TensorSummary(
    double least, double most, double mean, long notNumbers, String first, boolean numeric) {
  private static final int FIRST = 4;

  /** The most elements that JSON lists. */
  private static final int LISTED = 10_000;

  /** Looks at every element once. */
  public static TensorSummary of(Tensor tensor) {
    if (!tensor.isNumeric()) {
      return new TensorSummary(Double.NaN, Double.NaN, Double.NaN, 0, "", false);
    }
    double least = Double.POSITIVE_INFINITY;
    double most = Double.NEGATIVE_INFINITY;
    double sum = 0;
    long notNumbers = 0;
    long count = tensor.count();
    StringBuilder first = new StringBuilder();
    for (long i = 0; i < count; i++) {
      double value = tensor.real(i);
      if (i < FIRST) {
        first.append(i == 0 ? "" : " ").append(Units.number(value));
      }
      if (Double.isNaN(value)) {
        notNumbers++;
        continue;
      }
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
    }
    if (count > FIRST) {
      first.append(" ...");
    }
    if (notNumbers > 0) {
      first.append(" (").append(Units.count(notNumbers)).append(" NaN)");
    }
    double mean = sum / (count - notNumbers);
    return new TensorSummary(least, most, mean, notNumbers, first.toString(), true);
  }

  /** One of the numbers for people; empty where there is none. */
  public String text(double value) {
    return least > most || !numeric ? "" : Units.number(value);
  }

  /**
   * Returns the fields for JSON: type, dimensions, these numbers, and as stored all elements of a
   * value that is not large.
   */
  public Map<String, Object> fields(Tensor tensor) {
    Map<String, Object> fields =
        Json.object("type", tensor.type().text(), "shape", tensor.shape().toArray());
    if (tensor.isQuantized()) {
      fields.put("scale", tensor.quantization().scale());
      fields.put("zeroPoint", tensor.quantization().zeroPoint());
    }
    if (numeric && least <= most) {
      fields.putAll(Json.object("min", least, "max", most, "mean", mean));
    }
    if (numeric && tensor.count() <= LISTED) {
      fields.put(
          "values", LongStream.range(0, tensor.count()).mapToDouble(tensor::stored).toArray());
    }
    return fields;
  }
}
