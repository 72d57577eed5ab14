// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Units;
import java.io.IOException;

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
   * Type, dimensions, these numbers, and as stored all elements of a value that is not large;
   * writes fields only.
   */
  public void json(JsonGenerator json, Tensor tensor) throws IOException {
    json.writeStringField("type", tensor.type().text());
    json.writeFieldName("shape");
    int[] shape = tensor.shape().toArray();
    json.writeArray(shape, 0, shape.length);
    if (tensor.isQuantized()) {
      json.writeNumberField("scale", tensor.quantization().scale());
      json.writeNumberField("zeroPoint", tensor.quantization().zeroPoint());
    }
    if (!numeric) {
      return;
    }
    if (least <= most) {
      field(json, "min", least);
      field(json, "max", most);
      field(json, "mean", mean);
    }
    if (tensor.count() <= LISTED) {
      json.writeArrayFieldStart("values");
      for (long i = 0; i < tensor.count(); i++) {
        JsonNumbers.element(json, tensor, i);
      }
      json.writeEndArray();
    }
  }

  private static void field(JsonGenerator json, String name, double value) throws IOException {
    json.writeFieldName(name);
    Json.number(json, value);
  }
}
