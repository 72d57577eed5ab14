// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.runtime.health.ReplayProbe;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.plan.TemporariesLayout;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A comparison of a device with the reference, which executes the same step again into memory of
 * its own. Used by the one thread that executes.
 */
final class ReferenceCheck {
  private final ExecutionHost host;
  private final ExecutionConfig config;

  ReferenceCheck(ExecutionHost host, ExecutionConfig config) {
    this.host = host;
    this.config = config.withMeasureTiming(false);
  }

  /**
   * Returns what is wrong with an answer; empty when it is right, or nobody can tell. The device's
   * monitor learns of either.
   *
   * @param request what the device has executed
   * @param room the places of the outputs, before the device reported their shapes
   * @param name of the step, for people
   */
  Optional<String> objection(
      PreparedStep prepared,
      RegisteredDevice device,
      Frame frame,
      Request request,
      List<Value> room,
      String name) {
    ExecutionStep step = prepared.step();
    OutputComparison comparison = new OutputComparison(step.model(), device.info());
    if (device.isReference() || !comparison.isComparable()) {
      return Optional.empty();
    }
    DevicePreparedModel reference;
    try {
      reference =
          prepared.reference().get(config.control(), () -> host.prepareOnReference(step, config));
    } catch (NeuralNetworksException e) {
      log().log(Level.DEBUG, "{0} is not compared with the reference: {1}", name, e.getMessage());
      return Optional.empty();
    }
    long bytes = room.stream().mapToLong(value -> TemporariesLayout.align(value.length())).sum();
    if (bytes == 0) {
      return Optional.empty();
    }
    try (SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, bytes)) {
      Request again = again(request, room, own);
      if (!(DevicePreparedModel.resultOf(reference.execute(again, config, List.of()))
          instanceof Completed answer)) {
        // Nobody can tell who is right; the caller has an answer.
        return Optional.empty();
      }
      Optional<String> difference = compare(comparison, step, frame, answer, room, own);
      if (difference.isEmpty()) {
        device.monitor().agreed();
      } else {
        device
            .monitor()
            .disagreed(
                name + ", " + difference.get(),
                ReplayProbe.of(
                    name,
                    step.model(),
                    request.inputs().stream().map(input -> value(input, request)).toList(),
                    expected(step, frame, again, answer, own),
                    comparison::difference));
      }
      return difference;
    } catch (SharedMemoryException e) {
      log().log(Level.DEBUG, "{0} is not compared with the reference: {1}", name, e.getMessage());
      return Optional.empty();
    }
  }

  /** Returns the same request with its outputs one after the other in other memory. */
  private static Request again(Request request, List<Value> room, SharedMemory own) {
    List<MemoryPool> pools = new ArrayList<>(request.pools());
    pools.add(new MemoryPool.Shared(own));
    List<Request.Argument> outputs = new ArrayList<>();
    long offset = 0;
    for (int i = 0; i < room.size(); i++) {
      if (request.outputs().get(i) instanceof Request.Location given) {
        outputs.add(new Request.Location(pools.size() - 1, offset, given.length(), given.shape()));
        offset += TemporariesLayout.align(given.length());
      } else {
        outputs.add(Request.Argument.NO_VALUE);
      }
    }
    return new Request(request.inputs(), outputs, pools);
  }

  private static Optional<String> compare(
      OutputComparison comparison,
      ExecutionStep step,
      Frame frame,
      Completed answer,
      List<Value> room,
      SharedMemory own) {
    long offset = 0;
    for (int i = 0; i < room.size(); i++) {
      int index = step.outputs().get(i);
      Value value = frame.get(index);
      if (value.isOmitted()) {
        continue;
      }
      if (!frame.operand(index).isSizeKnown()) {
        Shape shape = answer.outputs().get(i).shape();
        if (!shape.equals(value.shape())) {
          return Optional.of(
              "output %d: its shape is %s, on the reference %s".formatted(i, value.shape(), shape));
        }
      }
      MemorySegment expected = own.segment().asSlice(offset, value.length());
      Optional<String> difference = comparison.difference(i, value.bytes(), expected);
      if (difference.isPresent()) {
        return difference;
      }
      offset += TemporariesLayout.align(room.get(i).length());
    }
    return Optional.empty();
  }

  /** Returns an input as it was. */
  private static ReplayProbe.Value value(Request.Argument input, Request request) {
    if (input instanceof Request.Location place
        && request.pools().get(place.pool()) instanceof MemoryPool.Shared pool) {
      MemorySegment bytes = pool.memory().segment().asSlice(place.offset(), place.length());
      return new ReplayProbe.Value(
          bytes.toArray(ValueLayout.JAVA_BYTE), place.shape(), place.shape());
    }
    return ReplayProbe.Value.OMITTED;
  }

  /** Returns the outputs as they should have been, cut to the size that the reference gave them. */
  private static List<ReplayProbe.Value> expected(
      ExecutionStep step, Frame frame, Request again, Completed answer, SharedMemory own) {
    List<ReplayProbe.Value> expected = new ArrayList<>();
    for (int i = 0; i < again.outputs().size(); i++) {
      if (!(again.outputs().get(i) instanceof Request.Location place)) {
        expected.add(ReplayProbe.Value.OMITTED);
        continue;
      }
      Operand operand = frame.operand(step.outputs().get(i));
      Shape shape = operand.isSizeKnown() ? operand.shape() : answer.outputs().get(i).shape();
      long bytes = shape.elementCount() * operand.type().elementSize();
      expected.add(
          new ReplayProbe.Value(
              own.segment().asSlice(place.offset(), bytes).toArray(ValueLayout.JAVA_BYTE),
              place.shape(),
              shape));
    }
    return expected;
  }

  private static System.Logger log() {
    return System.getLogger(ReferenceCheck.class.getPackageName());
  }
}
