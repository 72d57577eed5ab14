// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;

/** A device that truly computes, but only the operations that it was given. Counts what is open. */
public class LimitedDevice implements Device {
  private final DeviceInfo info;
  private final BiPredicate<Subgraph, Operation> claims;
  private final AtomicInteger open = new AtomicInteger();
  private final AtomicInteger executions = new AtomicInteger();
  private final List<Model> prepared = new CopyOnWriteArrayList<>();

  /** A device of these facts that claims what the predicate says. */
  public LimitedDevice(DeviceInfo info, BiPredicate<Subgraph, Operation> claims) {
    this.info = info;
    this.claims = claims;
  }

  /** An accelerator with this cost for everything, that executes these operations. */
  public static LimitedDevice of(String id, double cost, OperationCode... operations) {
    List<OperationCode> all = List.of(operations);
    return new LimitedDevice(
        info("test-" + id, DeviceType.ACCELERATOR, cost).build(),
        (graph, operation) -> all.contains(operation.type()));
  }

  /** An accelerator with this cost for everything, that executes all but control flow. */
  public static LimitedDevice all(String id, double cost) {
    return new LimitedDevice(
        info("test-" + id, DeviceType.ACCELERATOR, cost).build(),
        (graph, operation) ->
            operation.type() != OperationCode.IF && operation.type() != OperationCode.WHILE);
  }

  /** An accelerator with this cost, that executes what its interpreter knows, on floats only. */
  public static LimitedDevice floats(String id, double cost) {
    List<OperationCode> known =
        List.of(
            OperationCode.ADD,
            OperationCode.SUB,
            OperationCode.MUL,
            OperationCode.MAXIMUM,
            OperationCode.MINIMUM);
    return new LimitedDevice(
        info("test-" + id, DeviceType.ACCELERATOR, cost).build(),
        (graph, operation) ->
            known.contains(operation.type())
                && graph.operands().get(operation.inputs().get(0)).type()
                    == OperandCode.TENSOR_FLOAT32);
  }

  /** The reference: it executes everything at the cost of 1. */
  public static LimitedDevice cpu() {
    return new LimitedDevice(
        info("thalamus-cpu", DeviceType.CPU, 1).build(), (graph, operation) -> true);
  }

  /**
   * A CPU device with this cost for everything, that takes arguments by pointer and executes these
   * operations, or everything where none is named.
   */
  public static LimitedDevice pointers(String name, double cost, OperationCode... operations) {
    List<OperationCode> all = List.of(operations);
    return new LimitedDevice(
        info(name, DeviceType.CPU, cost).pointerArguments(true).build(),
        (graph, operation) -> all.isEmpty() || all.contains(operation.type()));
  }

  /** Returns the bytes of an argument of a request; null where it has no value. */
  public static MemorySegment segment(Request request, Request.Argument argument) {
    return TinyInterpreter.segment(request, argument);
  }

  /** Facts with one cost for everything. */
  public static DeviceInfo.Builder info(String name, DeviceType type, double cost) {
    return DeviceInfo.builder(name, "1")
        .type(type)
        .featureLevel(FeatureLevel.V1_3)
        .capabilities(capabilities((float) cost, (float) cost));
  }

  /** One cost for everything, another for relaxed models. */
  public static Capabilities capabilities(float cost, float relaxed) {
    Map<OperandType, PerformanceInfo> costs = new HashMap<>();
    Arrays.stream(OperandCode.values())
        .filter(type -> type != OperandCode.SUBGRAPH)
        .forEach(type -> costs.put(type, PerformanceInfo.of(cost)));
    return new Capabilities(
        PerformanceInfo.of(relaxed),
        PerformanceInfo.of(relaxed),
        costs,
        PerformanceInfo.of(cost),
        PerformanceInfo.of(cost));
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    BitSet supported = new BitSet();
    List<Operation> operations = model.main().operations();
    for (int i = 0; i < operations.size(); i++) {
      supported.set(i, claims.test(model.main(), operations.get(i)));
    }
    return supported;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    if (supportedOperations(model).cardinality() < model.main().operations().size()) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "not all of it is supported");
    }
    prepared.add(model);
    return open(model);
  }

  /** A model that is known to be supported, ready to be executed. */
  protected final PreparedModel open(Model model) {
    open.incrementAndGet();
    TinyInterpreter interpreter = new TinyInterpreter(model);
    return new PreparedModel() {
      private boolean closed;

      @Override
      public ExecutionResult execute(Request request, ExecutionConfig config) {
        synchronized (this) {
          if (closed) {
            throw new IllegalStateException("executed after it was closed");
          }
        }
        executions.incrementAndGet();
        return interpreter.execute(request, config);
      }

      @Override
      public synchronized void close() {
        if (!closed) {
          closed = true;
          open.decrementAndGet();
        }
      }
    };
  }

  /** Returns the number of prepared models that are not closed. */
  public int open() {
    return open.get();
  }

  /** Returns the number of executions that have begun. */
  public int executions() {
    return executions.get();
  }

  /** The models that were prepared, in order. */
  public List<Model> prepared() {
    return prepared;
  }
}
