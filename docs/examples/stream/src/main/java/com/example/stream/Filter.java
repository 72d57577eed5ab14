// SPDX-License-Identifier: Apache-2.0
package com.example.stream;

import io.thalamus.api.CompilationOptions;
import io.thalamus.embedded.Thalamus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.streams.BurstStreams;
import io.thalamus.streams.FrameCodec;
import io.thalamus.streams.StreamOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.osgi.util.pushstream.PushStreamProvider;

/**
 * Sends frames of two samples through a high-pass filter whose state stays in memory of the device
 * from one frame to the next.
 */
public final class Filter {
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Filter() {}

  /**
   * The filter: {@code y = x - level}, {@code next = level + y / 2}. Inputs are x and level,
   * outputs y and next.
   */
  private static Model model() {
    SubgraphBuilder graph = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    Shape frame = Shape.of(2);
    Quantization none = Quantization.NONE;
    int x = graph.input("x", type, frame, none);
    int level = graph.input("level", type, frame, none);
    int y = graph.output("y", type, frame, none);
    int next = graph.output("next", type, frame, none);
    int step = graph.temporary("step", type, frame, none);
    byte[] half =
        ByteBuffer.allocate(Float.BYTES).order(ByteOrder.LITTLE_ENDIAN).putFloat(0.5f).array();
    int rate = graph.constant("rate", type, Shape.of(1), none, new Lifetime.ConstantCopy(half));
    int noActivation = graph.int32(0);
    graph.operation(OperationCode.SUB, List.of(x, level, noActivation), List.of(y));
    graph.operation(OperationCode.MUL, List.of(y, rate, noActivation), List.of(step));
    graph.operation(OperationCode.ADD, List.of(level, step, noActivation), List.of(next));
    return Model.of(graph.build());
  }

  /**
   * Prints what the filter gives for five frames.
   *
   * @param args none
   */
  public static void main(String[] args) throws Exception {
    float[][] samples = {{1, 8}, {1, 8}, {1, 0}, {1, 0}, {1, 0}};
    FrameCodec<float[], float[]> codec =
        FrameCodec.of(
            (sample, frame) ->
                MemorySegment.copy(sample, 0, frame.input(0), FLOAT, 0, sample.length),
            frame -> frame.output(0).toArray(FLOAT));
    try (var thalamus = Thalamus.start();
        var streams = new BurstStreams(thalamus.neuralNetworks());
        var compilation = thalamus.neuralNetworks().compile(model(), CompilationOptions.DEFAULT)) {
      streams.stream(
              compilation,
              StreamOptions.DEFAULT.withState(1, 1),
              new PushStreamProvider().streamOf(Stream.of(samples)),
              codec)
          .forEach(y -> System.out.println(Arrays.toString(y)))
          .getValue();
    }
  }
}
