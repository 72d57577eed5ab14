// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.osgi.util.promise.Promise;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventSource;

/** States that go from frame to frame: {@code next = state / 2 + x; y = 3 * next}. */
@Timeout(120)
@ResourceLock(Doubling.THREADS)
class StreamStatesTest {
  private static final long SEED = Long.getLong("thalamus.seed", 1);
  private static final long PATIENCE_SECONDS = 60;
  private static final Shape SHAPE = Shape.of(1);
  private static final ExecutionReport DONE = FakeNetworks.done(SHAPE, SHAPE);
  private static final FrameCodec<Float, Float> CODEC =
      FrameCodec.of(
          (x, frame) -> frame.input(0).set(Doubling.FLOAT, 0, x),
          frame -> frame.output(1).get(Doubling.FLOAT, 0));

  private final AtomicInteger executed = new AtomicInteger();
  private final FakeNetworks fake = new FakeNetworks(graph(), this::execute);
  private final List<Float> values = values();
  private Fault fault = frame -> DONE;

  private interface Fault {
    ExecutionReport of(int execution) throws Exception;
  }

  private static Subgraph graph() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int x = graph.input("x", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int state = graph.input("state", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int next = graph.output("next", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(state, x, graph.int32(0)), List.of(next));
    graph.operation(OperationCode.ADD, List.of(next, next, graph.int32(0)), List.of(y));
    return graph.build();
  }

  private ExecutionReport execute(MemorySegment[] inputs, MemorySegment[] outputs)
      throws Exception {
    ExecutionReport report = fault.of(executed.getAndIncrement());
    if (!report.isSuccess()) {
      outputs[0].fill((byte) 0x55);
      return report;
    }
    float next = inputs[1].get(Doubling.FLOAT, 0) / 2 + inputs[0].get(Doubling.FLOAT, 0);
    outputs[0].set(Doubling.FLOAT, 0, next);
    outputs[1].set(Doubling.FLOAT, 0, 3 * next);
    return report;
  }

  private static List<Float> values() {
    SplittableRandom random = new SplittableRandom(SEED);
    List<Float> values = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      values.add((float) random.nextDouble(-1, 1));
    }
    return values;
  }

  private static PushEventSource<Float> source(List<Float> values) {
    return consumer -> {
      for (Float value : values) {
        if (consumer.accept(PushEvent.data(value)) < 0) {
          return () -> {};
        }
      }
      consumer.accept(PushEvent.close());
      return () -> {};
    };
  }

  private List<Float> run(StreamOptions options, FrameCodec<Float, Float> codec) throws Exception {
    return run(options, codec, new ArrayList<>()).getValue();
  }

  private Promise<List<Float>> run(
      StreamOptions options, FrameCodec<Float, Float> codec, List<Float> results) throws Exception {
    try (BurstStreams streams = new BurstStreams(fake.networks())) {
      Promise<List<Float>> all =
          streams.stream(fake.compilation(), options, source(values), codec)
              .reduce(
                  results,
                  (list, result) -> {
                    list.add(result);
                    return list;
                  },
                  (list, other) -> list);
      // Closing the maker would end it before.
      all.getFailure();
      return all;
    } finally {
      Doubling.await(
          "all is closed",
          () -> fake.openBursts.get() == 0 && fake.openMemories.get() == 0 && fake.isAllUnmapped());
    }
  }

  private static void assertFollows(double state, List<Float> values, List<Float> results) {
    System.out.println("states: seed = " + SEED);
    assertEquals(values.size(), results.size());
    double now = state;
    for (int i = 0; i < values.size(); i++) {
      now = now / 2 + values.get(i);
      assertEquals(3 * now, results.get(i), 1e-5, "frame " + i);
    }
  }

  @Test
  void aStateGoesFromFrameToFrame() throws Exception {
    for (int depth : new int[] {1, 2, 3, 5}) {
      fake.descs.clear();
      List<Float> results = run(StreamOptions.DEFAULT.withDepth(depth).withState(1, 0), CODEC);
      assertFollows(0, values, results);
      assertEquals(2, fake.descs.size(), "it goes to and fro between two memories");
      assertEquals(2, fake.descs.getFirst().roles().size());
    }
  }

  @Test
  void aStateBeginsWithWhatIsGiven() throws Exception {
    MemorySegment initial = MemorySegment.ofArray(new float[] {100});
    StreamOptions options = StreamOptions.DEFAULT.withState(1, 0, initial);
    assertFollows(100, values, run(options, CODEC));
  }

  @Test
  void aStateIsInSharedMemoryIfNoDeviceHasRoom() throws Exception {
    fake.refusal = ResultCode.OP_FAILED;
    MemorySegment initial = MemorySegment.ofArray(new float[] {100});
    assertFollows(0, values, run(StreamOptions.DEFAULT.withState(1, 0), CODEC));
    assertFollows(100, values, run(StreamOptions.DEFAULT.withState(1, 0, initial), CODEC));
  }

  @Test
  void anotherRefusalOfItsMemoryIsAnError() throws Exception {
    fake.refusal = ResultCode.RESOURCE_EXHAUSTED_TRANSIENT;
    assertEquals(
        ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, failure(StreamOptions.DEFAULT.withState(1, 0)));
  }

  private ResultCode failure(StreamOptions options) throws Exception {
    Throwable failure = run(options, CODEC, new ArrayList<>()).getFailure();
    return ((NeuralNetworksException) failure).code();
  }

  @Test
  void aFrameIsWrittenWhileTheOneBeforeItIsExecuted() throws Exception {
    CountDownLatch[] written = new CountDownLatch[values.size()];
    for (int i = 0; i < written.length; i++) {
      written[i] = new CountDownLatch(1);
    }
    fault =
        frame -> {
          if (frame + 1 < written.length) {
            assertTrue(written[frame + 1].await(PATIENCE_SECONDS, TimeUnit.SECONDS));
          }
          return DONE;
        };
    FrameCodec<Float, Float> telling =
        FrameCodec.of(
            (x, frame) -> {
              CODEC.write(x, frame);
              written[(int) frame.number()].countDown();
            },
            CODEC::read);
    StreamOptions options = StreamOptions.DEFAULT.withDepth(2).withState(1, 0);
    assertFollows(0, values, run(options, telling));
  }

  @Test
  void aFrameThatFailsLeavesTheStateAsItWas() throws Exception {
    fault =
        frame ->
            frame % 5 == 4 ? ExecutionReport.failed(ResultCode.OP_FAILED, "by the test") : DONE;
    FrameCodec<Float, Float> patient =
        FrameCodec.of(
            CODEC::write,
            frame -> frame.report().isSuccess() ? CODEC.read(frame) : Float.valueOf(Float.NaN));
    List<Float> results = run(StreamOptions.DEFAULT.withState(1, 0), patient);
    List<Float> taken = new ArrayList<>();
    List<Float> right = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      assertEquals(i % 5 == 4, results.get(i).isNaN(), "frame " + i);
      if (i % 5 != 4) {
        taken.add(values.get(i));
        right.add(results.get(i));
      }
    }
    assertFollows(0, taken, right);
  }

  @Test
  void aStateThatIsLostEndsTheStreamWhateverTheCodecSays() throws Exception {
    fault =
        frame ->
            frame == 5 ? ExecutionReport.failed(ResultCode.DEAD_OBJECT, "the device left") : DONE;
    FrameCodec<Float, Float> patient = FrameCodec.of(CODEC::write, frame -> 0f);
    List<Float> results = new ArrayList<>();
    Throwable failure = run(StreamOptions.DEFAULT.withState(1, 0), patient, results).getFailure();
    assertEquals(ResultCode.DEAD_OBJECT, ((NeuralNetworksException) failure).code());
    assertEquals("frame 5: the device left", failure.getMessage());
    assertEquals(5, results.size());
  }

  @Test
  void aStateIsOutOfReachOfTheCodec() throws Exception {
    FrameCodec<Float, Float> curious =
        FrameCodec.of(
            (x, frame) -> {
              assertThrows(IllegalArgumentException.class, () -> frame.input(1));
              CODEC.write(x, frame);
            },
            frame -> {
              assertThrows(IllegalArgumentException.class, () -> frame.output(0));
              return CODEC.read(frame);
            });
    assertFollows(0, values, run(StreamOptions.DEFAULT.withState(1, 0), curious));
  }

  @Test
  void statesThatDoNotFitAreBadData() throws Exception {
    MemorySegment wrong = MemorySegment.ofArray(new float[2]);
    for (StreamOptions options :
        List.of(
            StreamOptions.DEFAULT.withState(2, 0),
            StreamOptions.DEFAULT.withState(1, 2),
            StreamOptions.DEFAULT.withState(-1, 0),
            StreamOptions.DEFAULT.withState(1, 0, wrong))) {
      assertEquals(ResultCode.BAD_DATA, failure(options));
    }
  }

  /** Zero is the zero point, in elements of one byte and of two. */
  @Test
  void aQuantizedStateBeginsWithZeros() throws Exception {
    for (OperandCode type :
        List.of(
            OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
            OperandCode.TENSOR_QUANT8_ASYMM,
            OperandCode.TENSOR_QUANT16_ASYMM)) {
      SubgraphBuilder graph = new SubgraphBuilder();
      Quantization quantization = Quantization.of(0.5f, 77);
      Shape shape = Shape.of(3);
      int x = graph.input("x", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
      int state = graph.input("state", type, shape, quantization);
      int next = graph.output("next", type, shape, quantization);
      int y = graph.output("y", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
      graph.operation(OperationCode.ADD, List.of(state, state, graph.int32(0)), List.of(next));
      graph.operation(OperationCode.ADD, List.of(x, x, graph.int32(0)), List.of(y));
      List<String> seen = new ArrayList<>();
      FakeNetworks networks =
          new FakeNetworks(
              graph.build(),
              (inputs, outputs) -> {
                StringBuilder text = new StringBuilder();
                for (byte each : inputs[1].toArray(ValueLayout.JAVA_BYTE)) {
                  text.append(each).append(' ');
                }
                seen.add(text.toString());
                return FakeNetworks.done(shape, SHAPE);
              });
      try (BurstStreams streams = new BurstStreams(networks.networks())) {
        streams.stream(
                networks.compilation(),
                StreamOptions.DEFAULT.withState(1, 0),
                source(List.of(1f)),
                CODEC)
            .count()
            .getValue();
      }
      boolean isWide = type == OperandCode.TENSOR_QUANT16_ASYMM;
      assertEquals(List.of(isWide ? "77 0 77 0 77 0 " : "77 77 77 "), seen);
    }
  }
}
