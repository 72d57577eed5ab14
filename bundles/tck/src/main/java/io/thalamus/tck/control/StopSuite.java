// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.control;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Tells a device to stop while it prepares a model of several operations, and while it computes a
 * single long one, of those that it supports. Immutable; runs in the calling thread.
 *
 * @param device that must stop
 */
public record StopSuite(Device device) {
  /**
   * Checkpoints that are passed: the first may stand before the operation, the later ones must
   * stand within it.
   */
  private static final int PASSED = 3;

  private static final List<Signal> SIGNALS = List.of(Signal.CANCELLED, Signal.DEADLINE);

  /** The operations of a model that is prepared: a prepare asks at each of them. */
  private static final int PREPARED = PASSED + 1;

  private static final int[] SHAPE = {1, 13, 13, 64};

  public StopSuite {
    Objects.requireNonNull(device, "device");
  }

  /** The checks of all models that the device supports, with each signal. */
  public List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    for (OperationCode operation : List.of(OperationCode.ADD, OperationCode.RELU)) {
      for (OperandCode type : List.of(TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)) {
        Supplier<TestGraph> model = () -> small(operation, type);
        String name = "prepare " + operation + " " + type;
        add(checks, name, model, signal -> stopPrepare(model, signal));
      }
    }
    for (LongOperation operation : LongOperation.values()) {
      add(checks, "long " + operation, operation::graph, signal -> stop(operation, signal));
    }
    return checks;
  }

  /** The body of a check with a signal. */
  @FunctionalInterface
  private interface Stop {
    void run(Signal signal) throws Exception;
  }

  private void add(List<Check> checks, String name, Supplier<TestGraph> model, Stop body) {
    try (TestGraph graph = model.get()) {
      if (Probes.takes(device, graph.model())) {
        for (Signal signal : SIGNALS) {
          checks.add(new Check(name + " " + signal, () -> body.run(signal)));
        }
      }
    }
  }

  /** Answers with the signal once some checkpoints are passed. */
  private static ExecutionControl control(AtomicInteger asked, Signal signal) {
    return () -> asked.incrementAndGet() <= PASSED ? Signal.CONTINUE : signal;
  }

  private static ErrorStatus status(Signal signal) {
    return signal == Signal.CANCELLED
        ? ErrorStatus.GENERAL_FAILURE
        : ErrorStatus.MISSED_DEADLINE_TRANSIENT;
  }

  private static TestGraph small(OperationCode operation, OperandCode type) {
    TestGraph graph = new TestGraph();
    Quantization quantization =
        type == TENSOR_FLOAT32 ? Quantization.NONE : Quantization.of(0.5f, 120);
    graph.chain(operation, type, quantization, PREPARED, SHAPE);
    return graph;
  }

  private void stopPrepare(Supplier<TestGraph> model, Signal signal) throws Exception {
    AtomicInteger asked = new AtomicInteger();
    PrepareConfig config = PrepareConfig.DEFAULT.with(control(asked, signal));
    try (TestGraph graph = model.get()) {
      Expect.refused(
          "a prepare of " + PREPARED + " operations, asked to stop at the last checkpoint,",
          () -> device.prepare(graph.model(), config).close(),
          status(signal));
    }
  }

  private void stop(LongOperation operation, Signal signal) throws DeviceException {
    try (TestGraph graph = operation.graph()) {
      Model model = graph.model();
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
          TestRequest request = TestRequest.of(model.main())) {
        AtomicInteger asked = new AtomicInteger();
        ExecutionResult result =
            prepared.execute(
                request.request(), ExecutionConfig.DEFAULT.with(control(asked, signal)));
        if (result instanceof ExecutionResult.Failed) {
          Expect.failed(result, status(signal));
        } else if (operation.isChain()) {
          throw Expect.failure("it ran to its end, and passed " + asked + " checkpoints");
        } else {
          // Legal within one operation: such a device is watched from outside.
          throw Expect.skip("the device passes no checkpoint inside a long operation");
        }
      }
    }
  }
}
