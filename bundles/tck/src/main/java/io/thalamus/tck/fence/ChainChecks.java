// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.fence;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.check.TestRequest;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;

/**
 * Executions of one model in a row, each on the outputs of the one before and behind its fence. The
 * last one is launched first, so that all wait at once. Immutable.
 */
record ChainChecks(Device device, Duration limit) {
  private static final Duration HELD = Duration.ofMillis(20);
  private static final int STEPS = 4;
  private static final int[] SHAPE = {1, 4, 4, 8};

  List<Check> checks() {
    return List.of(
        new Check("a chain", () -> with(this::done)),
        new Check("a chain whose first fence fails", () -> with(this::failed)));
  }

  /** A part of a check, with a model. */
  @FunctionalInterface
  private interface Part {
    void run(Model model, OperandCode type) throws Exception;
  }

  private void with(Part part) throws Exception {
    for (OperandCode type : List.of(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM)) {
      for (OperationCode operation : List.of(OperationCode.ADD, OperationCode.RELU)) {
        try (TestGraph graph = new TestGraph()) {
          graph.chain(operation, type, quantization(type), 2, SHAPE);
          Model model = graph.model();
          if (Probes.takes(device, model)) {
            part.run(model, type);
            return;
          }
        }
      }
    }
    throw Expect.skip("the device takes no chain of ADD or RELU");
  }

  private static Quantization quantization(OperandCode type) {
    return type == OperandCode.TENSOR_FLOAT32 ? Quantization.NONE : Quantization.of(1, 0);
  }

  private static byte[] input(OperandCode type) {
    int elements = SHAPE[1] * SHAPE[2] * SHAPE[3];
    byte[] bytes = new byte[elements];
    float[] floats = new float[elements];
    for (int i = 0; i < elements; i++) {
      // Sums of quantized values that do not saturate before the last step.
      bytes[i] = (byte) (i % 2 + 1);
      floats[i] = i + 1;
    }
    return type == OperandCode.TENSOR_FLOAT32 ? TestGraph.bytes(floats) : bytes;
  }

  /** The memories of a chain, of which all but the last one are also inputs. */
  private static final class Memories implements AutoCloseable {
    private final List<TestRequest> requests;

    Memories(Model model) {
      requests = Stream.generate(() -> TestRequest.of(model.main())).limit(STEPS).toList();
    }

    void write(byte[] input) {
      requests.getFirst().inputs().segment().copyFrom(MemorySegment.ofArray(input));
    }

    /** The request of a step: its input is the output of the one before. */
    Request request(int step) {
      TestRequest own = requests.get(step);
      return step == 0
          ? own.request()
          : new Request(
              own.request().inputs(),
              own.request().outputs(),
              List.of(
                  new MemoryPool.Shared(requests.get(step - 1).outputs()),
                  new MemoryPool.Shared(own.outputs())));
    }

    byte[] result(int step) {
      return requests.get(step).allOutputs();
    }

    @Override
    public void close() {
      requests.forEach(TestRequest::close);
    }
  }

  /** Executions that wait, the last one first. */
  private final class Chain implements AutoCloseable {
    private final SyncFence head = new SyncFence();
    private final Deque<Launch> launches = new ArrayDeque<>();

    Chain(PreparedModel prepared, Memories memories) {
      Launch next = null;
      SyncFence behind = null;
      for (int step = STEPS - 1; step >= 0; step--) {
        SyncFence fence = step == 0 ? head : new SyncFence();
        Launch launch =
            new Launch(
                prepared, memories.request(step), List.of(fence), ExecutionConfig.DEFAULT, limit);
        launches.addFirst(launch);
        if (next != null) {
          launch.then(behind);
        }
        next = launch;
        behind = fence;
      }
    }

    void settle() throws Exception {
      for (Launch launch : launches) {
        launch.settle(HELD);
        Expect.that(!launch.isDone(), "a step ended before the fence of the first one signalled");
      }
    }

    @Override
    public void close() {
      launches.forEach(Launch::close);
    }
  }

  private static List<byte[]> results(Memories memories) {
    List<byte[]> results = new ArrayList<>();
    for (int step = 0; step < STEPS; step++) {
      results.add(memories.result(step));
    }
    return results;
  }

  private static List<byte[]> oneByOne(PreparedModel prepared, Model model, byte[] input) {
    try (Memories memories = new Memories(model)) {
      memories.write(input);
      for (int step = 0; step < STEPS; step++) {
        Expect.completed(
            "step " + step, prepared.execute(memories.request(step), ExecutionConfig.DEFAULT));
      }
      return results(memories);
    }
  }

  private void done(Model model, OperandCode type) throws Exception {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        Memories memories = new Memories(model)) {
      List<byte[]> expected = oneByOne(prepared, model, input(type));
      try (Chain chain = new Chain(prepared, memories)) {
        chain.settle();
        memories.write(input(type));
        chain.head.signal();
        for (Launch launch : chain.launches) {
          Expect.at("a step", launch::done);
        }
        for (int step = 0; step < STEPS; step++) {
          Expect.equal(
              expected.get(step), memories.result(step), "the result of step " + step + " differs");
        }
      }
    }
  }

  private void failed(Model model, OperandCode type) throws Exception {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        Memories memories = new Memories(model)) {
      memories.write(input(type));
      List<byte[]> untouched = results(memories);
      try (Chain chain = new Chain(prepared, memories)) {
        chain.settle();
        chain.head.fail(DeviceException.failure("the kit's"));
        for (Launch launch : chain.launches) {
          Expect.at("a step", () -> launch.failed(ErrorStatus.GENERAL_FAILURE));
        }
        for (int step = 0; step < STEPS; step++) {
          Expect.equal(
              untouched.get(step), memories.result(step), "step " + step + " wrote its output");
        }
      }
    }
  }
}
