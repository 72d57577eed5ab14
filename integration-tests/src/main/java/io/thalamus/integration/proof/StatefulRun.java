// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A model with a state, {@code next = state + x; y = next * x} in 8 bits, whose state goes from one
 * memory to another and back, beside the same model on the CPU device with all of it in plain
 * memory. Not thread-safe; owns compilations and memories.
 */
public final class StatefulRun implements AutoCloseable {
  static final int ELEMENTS = 256;
  private static final Shape SHAPE = Shape.of(1, ELEMENTS);
  private static final OperandCode TYPE = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

  private final SplittableRandom random;
  private final Compilation watched;
  private final Compilation oracle;
  private Memory state;
  private Memory next;
  private byte[] expected = new byte[ELEMENTS];
  private int executions;
  private int wrong;
  private int failed;
  private int dead;
  private int nameless;
  private int onDevice;
  private String lastMessage = "";

  /**
   * Begins with a state of zeros.
   *
   * @param devices that are watched; the oracle runs on {@code cpu}
   */
  public StatefulRun(NeuralNetworks networks, List<String> devices, long seed)
      throws NeuralNetworksException {
    random = new SplittableRandom(seed);
    Model model = model();
    watched = networks.compile(model, CompilationOptions.DEFAULT.withDevices(devices));
    oracle =
        networks.compile(
            model, CompilationOptions.DEFAULT.withDevices(List.of("cpu")).with(Fallback.DENY));
    state = networks.createMemory(desc("state 0"));
    next = networks.createMemory(desc("state 1"));
    state.copyFrom(MemorySegment.ofArray(expected));
  }

  private MemoryDesc desc(String name) {
    return MemoryDesc.builder(name).input(watched, 0).output(watched, 0).build();
  }

  /** Returns the model. */
  static Model model() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int state = graph.input("state", TYPE, SHAPE, Quantization.of(0.5f, 3));
    int x = graph.input("x", TYPE, SHAPE, Quantization.of(0.25f, -7));
    int next = graph.output("next", TYPE, SHAPE, Quantization.of(0.5f, 3));
    int y = graph.output("y", TYPE, SHAPE, Quantization.of(2, 0));
    graph.operation(OperationCode.ADD, List.of(state, x, graph.int32(0)), List.of(next));
    graph.operation(OperationCode.MUL, List.of(next, x, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  /** Executes once, and compares; a state that was lost is written anew as it must have been. */
  public ExecutionReport step() throws NeuralNetworksException {
    byte[] x = new byte[ELEMENTS];
    random.nextBytes(x);
    byte[] rightNext = new byte[ELEMENTS];
    byte[] rightY = new byte[ELEMENTS];
    oracle
        .createExecution()
        .setInput(0, MemorySegment.ofArray(expected))
        .setInput(1, MemorySegment.ofArray(x))
        .setOutput(0, MemorySegment.ofArray(rightNext))
        .setOutput(1, MemorySegment.ofArray(rightY))
        .compute()
        .orThrow();
    byte[] y = new byte[ELEMENTS];
    ExecutionReport report =
        watched
            .createExecution()
            .setInput(0, state)
            .setInput(1, MemorySegment.ofArray(x))
            .setOutput(0, next)
            .setOutput(1, MemorySegment.ofArray(y))
            .compute();
    executions++;
    if (report.isSuccess()) {
      wrong += Arrays.equals(rightY, y) ? 0 : 1;
      expected = rightNext;
      Memory last = state;
      state = next;
      next = last;
      boolean isShared = state.describe().places().contains("shared memory");
      onDevice += isShared ? 0 : 1;
      return report;
    }
    lastMessage = report.code() + " " + report.message();
    if (report.code() == ResultCode.DEAD_OBJECT) {
      dead++;
      nameless += report.message().contains("'" + state.name() + "'") ? 0 : 1;
      state.copyFrom(MemorySegment.ofArray(expected));
    } else {
      failed++;
    }
    return report;
  }

  /** Returns true if the state is what it must be, bit for bit. Leaves a copy in shared memory. */
  public boolean isStateRight() throws NeuralNetworksException {
    byte[] actual = new byte[ELEMENTS];
    state.copyTo(MemorySegment.ofArray(actual));
    return Arrays.equals(expected, actual);
  }

  /** Returns true if devices came or went, and the plan does not follow yet. */
  public boolean isReplanning() {
    return watched.isReplanning();
  }

  /** Returns the number of executions. */
  public int executions() {
    return executions;
  }

  /** Returns the number that gave other bits than the CPU device alone. */
  public int wrong() {
    return wrong;
  }

  /** Returns the number that failed, but for a state that was lost. */
  public int failed() {
    return failed;
  }

  /** Returns the number that found that the state was lost with its device. */
  public int dead() {
    return dead;
  }

  /** Returns the number of these that did not name the memory. */
  public int nameless() {
    return nameless;
  }

  /** Returns the number that left the state on a device only. */
  public int onDevice() {
    return onDevice;
  }

  /** Returns the message of the last one that did not succeed. */
  public String lastMessage() {
    return lastMessage;
  }

  @Override
  public void close() {
    state.close();
    next.close();
    watched.close();
    oracle.close();
  }
}
