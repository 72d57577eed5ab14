// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

import static io.thalamus.model.LittleEndian.DOUBLE;
import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.LONG;
import static io.thalamus.model.LittleEndian.SHORT;

import io.thalamus.model.Quantization;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceResponse.Output;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * Triton's parameter {@code classification} of an output: in place of its values come the largest
 * of them as texts {@code VALUE:INDEX}, with {@code %f} for floats, the largest first and of equal
 * ones that of the lower index. NaN is below all. An output with an open first dimension gives them
 * for each row, any other one for all of its elements.
 */
public final class Classification {
  /** As in Triton. */
  private static final long MOST_ELEMENTS = 1_000_000;

  private static final int DIGITS_BEHIND = 6;

  private final Datatype datatype;
  private final MemorySegment value;

  private Classification(Datatype datatype, MemorySegment value) {
    this.datatype = datatype;
    this.value = value;
  }

  /**
   * Returns an answer with classes in place of values.
   *
   * @param counts the most classes of the outputs that are to have them, by their names
   * @throws ServingException with INVALID_ARGUMENT if an output has no order, or is too large
   */
  public static InferenceResponse of(InferenceResponse response, Map<String, Long> counts)
      throws ServingException {
    if (counts.isEmpty()) {
      return response;
    }
    List<Output> outputs = new ArrayList<>();
    for (Output output : response.outputs()) {
      Long count = counts.get(output.metadata().name());
      outputs.add(count == null ? output : classes(output, count));
    }
    return new InferenceResponse(
        response.model(),
        response.version(),
        response.id(),
        outputs,
        response.report(),
        response.attempts(),
        response.times());
  }

  private static Output classes(Output output, long most) throws ServingException {
    TensorMetadata metadata = output.metadata();
    String what = "output " + Texts.quote(metadata.name());
    switch (metadata.datatype()) {
      case BOOL, FP16, BF16, BYTES ->
          throw ServingException.invalid(
              what
                  + " is "
                  + metadata.datatype()
                  + ": expected an integer datatype, FP32 or FP64 for classification");
      default -> {
        // Of an order.
      }
    }
    long elements = output.value().byteSize() / metadata.datatype().size();
    if (elements > MOST_ELEMENTS) {
      throw ServingException.invalid(
          "%s has %d elements: expected at most %d for classification"
              .formatted(what, elements, MOST_ELEMENTS));
    }
    boolean hasRows =
        !metadata.shape().isEmpty() && metadata.shape().getFirst() < 0 && !output.shape().isEmpty();
    int rows = hasRows ? Math.toIntExact(output.shape().getFirst()) : 1;
    int ofRow = rows == 0 ? 0 : (int) (elements / rows);
    int count = (int) Math.min(most, ofRow);
    Classification reader = new Classification(metadata.datatype(), output.value());
    ByteArrayOutputStream texts = new ByteArrayOutputStream();
    for (int row = 0; row < rows; row++) {
      reader.write(texts, row * ofRow, ofRow, count);
    }
    return new Output(
        new TensorMetadata(
            metadata.name(),
            Datatype.BYTES,
            hasRows ? List.of(-1L, -1L) : List.of(-1L),
            Quantization.NONE),
        hasRows ? List.of((long) rows, (long) count) : List.of((long) count),
        MemorySegment.ofArray(texts.toByteArray()));
  }

  private void write(ByteArrayOutputStream texts, int first, int elements, int count) {
    Comparator<Integer> byValue = (a, b) -> compare(first + a, first + b);
    Comparator<Integer> worstFirst = byValue.thenComparing(Comparator.reverseOrder());
    PriorityQueue<Integer> best = new PriorityQueue<>(worstFirst);
    for (int i = 0; i < elements && count > 0; i++) {
      best.add(i);
      if (best.size() > count) {
        best.remove();
      }
    }
    for (int index : best.stream().sorted(worstFirst.reversed()).toList()) {
      byte[] text = (text(first + index) + ":" + index).getBytes(StandardCharsets.UTF_8);
      byte[] length = new byte[Integer.BYTES];
      MemorySegment.ofArray(length).set(INT, 0, text.length);
      texts.writeBytes(length);
      texts.writeBytes(text);
    }
  }

  private int compare(int a, int b) {
    return switch (datatype) {
      case FP32, FP64 -> {
        double left = real(a);
        double right = real(b);
        if (Double.isNaN(left) || Double.isNaN(right)) {
          yield Boolean.compare(Double.isNaN(right), Double.isNaN(left));
        }
        yield left < right ? -1 : left > right ? 1 : 0;
      }
      case UINT64 -> Long.compareUnsigned(integer(a), integer(b));
      default -> Long.compare(integer(a), integer(b));
    };
  }

  private double real(int index) {
    return datatype == Datatype.FP32
        ? value.getAtIndex(FLOAT, index)
        : value.getAtIndex(DOUBLE, index);
  }

  private long integer(int index) {
    return switch (datatype) {
      case UINT8 -> Byte.toUnsignedInt(value.get(ValueLayout.JAVA_BYTE, index));
      case INT8 -> value.get(ValueLayout.JAVA_BYTE, index);
      case UINT16 -> Short.toUnsignedInt(value.getAtIndex(SHORT, index));
      case INT16 -> value.getAtIndex(SHORT, index);
      case UINT32 -> Integer.toUnsignedLong(value.getAtIndex(INT, index));
      case INT32 -> value.getAtIndex(INT, index);
      case UINT64, INT64 -> value.getAtIndex(LONG, index);
      case BOOL, FP16, BF16, FP32, FP64, BYTES ->
          throw new IllegalArgumentException("no integer: " + datatype);
    };
  }

  private String text(int index) {
    return switch (datatype) {
      case FP32, FP64 -> text(real(index));
      case UINT64 -> Long.toUnsignedString(integer(index));
      default -> Long.toString(integer(index));
    };
  }

  /** Returns a number as C prints it by {@code %f}: its exact value, with six digits behind. */
  private static String text(double number) {
    if (!Double.isFinite(number)) {
      return Double.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
    }
    boolean isNegative = Math.copySign(1, number) < 0;
    BigDecimal rounded =
        new BigDecimal(Math.abs(number)).setScale(DIGITS_BEHIND, RoundingMode.HALF_EVEN);
    return (isNegative ? "-" : "") + rounded.toPlainString();
  }
}
