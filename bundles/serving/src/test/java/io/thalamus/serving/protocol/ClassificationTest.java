// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Timing;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceResponse.Output;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Classes as Triton's documents say, in its own example, and what they leave open. */
class ClassificationTest {
  private static Output classes(
      Datatype datatype, List<Long> declared, List<Long> shape, MemorySegment value, long count)
      throws ServingException {
    TensorMetadata metadata = new TensorMetadata("o", datatype, declared, Quantization.NONE);
    InferenceResponse response =
        new InferenceResponse(
            "m",
            "1",
            "",
            List.of(new Output(metadata, shape, value)),
            new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of()),
            1,
            new RequestTimes(0, 0, 0, 0, 0));
    return Classification.of(response, Map.of("o", count)).outputs().getFirst();
  }

  private static List<String> texts(Output output) {
    assertEquals(Datatype.BYTES, output.metadata().datatype());
    List<String> texts = new ArrayList<>();
    ValueLayout.OfInt length = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    for (long at = 0; at < output.value().byteSize(); ) {
      int bytes = output.value().get(length, at);
      byte[] text = output.value().asSlice(at + 4, bytes).toArray(ValueLayout.JAVA_BYTE);
      texts.add(new String(text, StandardCharsets.UTF_8));
      at += 4 + bytes;
    }
    return texts;
  }

  @Test
  void theLargestComeFirst() throws Exception {
    MemorySegment reals = MemorySegment.ofArray(new float[] {1.1f, 3.3f, 0.5f, 2.4f});
    Output output = classes(Datatype.FP32, List.of(4L), List.of(4L), reals, 2);
    assertEquals(List.of(2L), output.shape());
    assertEquals(List.of("3.300000:1", "2.400000:3"), texts(output));
    MemorySegment bytes = MemorySegment.ofArray(new byte[] {1, -1, 10, 4});
    assertEquals(
        List.of("255:1", "10:2"),
        texts(classes(Datatype.UINT8, List.of(4L), List.of(4L), bytes, 2)));
    assertEquals(
        List.of("10:2", "4:3"), texts(classes(Datatype.INT8, List.of(4L), List.of(4L), bytes, 2)));
  }

  @Test
  void equalOnesComeByIndexAndNoNumberLast() throws Exception {
    MemorySegment reals = MemorySegment.ofArray(new double[] {Double.NaN, 2, 2, -0.0, 0.0});
    assertEquals(
        List.of("2.000000:1", "2.000000:2", "-0.000000:3", "0.000000:4", "nan:0"),
        texts(classes(Datatype.FP64, List.of(5L), List.of(5L), reals, 99)));
  }

  /** The texts are those of the C library's printf. */
  @Test
  void floatsAreWrittenAsCDoes() throws Exception {
    float[] values = {1e20f, 0.0000005f, -0.0000002f, Float.POSITIVE_INFINITY, 0.1f, -1.5e-45f};
    assertEquals(
        List.of(
            "inf:3",
            "100000002004087734272.000000:0",
            "0.100000:4",
            "0.000000:1",
            "-0.000000:5",
            "-0.000000:2"),
        texts(
            classes(
                Datatype.FP32,
                List.of(6L),
                List.of(6L),
                MemorySegment.ofArray(values),
                values.length)));
    double[] halves = {0.0078125, 0.0234375, Double.NEGATIVE_INFINITY, 123456789.0123455};
    assertEquals(
        List.of("123456789.012345:3", "0.023438:1", "0.007812:0", "-inf:2"),
        texts(
            classes(
                Datatype.FP64,
                List.of(4L),
                List.of(4L),
                MemorySegment.ofArray(halves),
                halves.length)));
  }

  @Test
  void rowsOfAnOpenDimensionHaveTheirOwn() throws Exception {
    MemorySegment values = MemorySegment.ofArray(new long[] {1, 2, 3, 6, -1, 4});
    Output output = classes(Datatype.UINT64, List.of(-1L, 3L), List.of(2L, 3L), values, 1);
    assertEquals(List.of(2L, 1L), output.shape());
    assertEquals(List.of("3:2", "18446744073709551615:1"), texts(output));
  }

  @Test
  void whatHasNoOrderIsRefused() {
    MemorySegment value = MemorySegment.ofArray(new byte[4]);
    for (Datatype datatype : List.of(Datatype.BOOL, Datatype.FP16, Datatype.BF16, Datatype.BYTES)) {
      assertThrows(
          ServingException.class, () -> classes(datatype, List.of(4L), List.of(4L), value, 1));
    }
  }
}
