// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

import static io.thalamus.runtime.registry.DevicePreparedModel.resultOf;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.Leases;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.Probe;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A step that a device computed wrongly, with its inputs and the right answer, to be computed again
 * before the device serves again: small models of other operations would say nothing of it.
 * Thread-safe; keeps the constants of the model mapped until it is closed.
 */
public final class ReplayProbe implements Probe {
  /** The most bytes of inputs and outputs that are stored. */
  private static final long MOST_BYTES = 32 << 20;

  private static final long ALIGNMENT = 64;

  private final String name;
  private final Model model;
  private final List<Value> inputs;
  private final List<Value> outputs;
  private final Comparison comparison;
  private final Leases pools;

  /**
   * An argument.
   *
   * @param bytes null where the argument is left out
   * @param given the shape that the request gives it
   * @param actual the shape that an output has
   */
  public record Value(byte[] bytes, Shape given, Shape actual) {
    /** An argument that is left out. */
    public static final Value OMITTED = new Value(null, Shape.NONE, Shape.NONE);

    boolean isOmitted() {
      return bytes == null;
    }
  }

  /** A test whether an output is right. */
  @FunctionalInterface
  public interface Comparison {
    /** Returns what differs from the expected value of the same size; empty when nothing does. */
    Optional<String> difference(int output, MemorySegment actual, MemorySegment expected);
  }

  private ReplayProbe(
      String name, Model model, List<Value> inputs, List<Value> outputs, Comparison comparison) {
    this.name = name;
    this.model = model;
    this.inputs = List.copyOf(inputs);
    this.outputs = List.copyOf(outputs);
    this.comparison = comparison;
    this.pools = Leases.of(model.pools());
  }

  /**
   * Stores what is needed to compute a step again; empty when that is too much.
   *
   * @param name for people
   * @param outputs the right ones
   */
  public static Optional<ReplayProbe> of(
      String name, Model model, List<Value> inputs, List<Value> outputs, Comparison comparison) {
    return bytes(inputs) + bytes(outputs) > MOST_BYTES
        ? Optional.empty()
        : Optional.of(new ReplayProbe(name, model, inputs, outputs, comparison));
  }

  private static long bytes(List<Value> values) {
    return values.stream().mapToLong(ReplayProbe::aligned).sum();
  }

  private static long aligned(Value value) {
    return value.isOmitted() ? 0 : Math.ceilDiv(value.bytes().length, ALIGNMENT) * ALIGNMENT;
  }

  @Override
  public Optional<String> failure(RegisteredDevice device) {
    return failureOf(device)
        .map(what -> "it computed " + name + " wrongly, and not better when tried again: " + what);
  }

  /** Returns what goes wrong now; empty when nothing does. */
  Optional<String> failureOf(RegisteredDevice device) {
    // A device that is given up may still write to the memory of its call: each has its own.
    SharedMemory memory =
        SharedMemory.allocate(MemoryKind.ASHMEM, Math.max(1, bytes(inputs) + bytes(outputs)));
    try (DevicePreparedModel prepared =
        device.prepare(model, PrepareConfig.DEFAULT, Admission.UNTIL_DEPARTURE)) {
      Request request = request(memory);
      return switch (resultOf(prepared.execute(request, ExecutionConfig.DEFAULT, List.of()))) {
        case Completed completed -> difference(request, completed, memory.segment());
        case Failed failed -> Optional.of(failed.message());
        default -> Optional.of("it found a buffer too small");
      };
    } catch (DeviceException e) {
      return Optional.of(e.getMessage());
    } finally {
      memory.close();
    }
  }

  private Request request(SharedMemory memory) {
    List<Argument> places = new ArrayList<>();
    long offset = 0;
    for (Value input : inputs) {
      places.add(place(input, offset));
      if (!input.isOmitted()) {
        MemorySegment.copy(
            MemorySegment.ofArray(input.bytes()),
            0,
            memory.segment(),
            offset,
            input.bytes().length);
      }
      offset += aligned(input);
    }
    for (Value output : outputs) {
      places.add(place(output, offset));
      offset += aligned(output);
    }
    return new Request(
        places.subList(0, inputs.size()),
        places.subList(inputs.size(), places.size()),
        List.of(new MemoryPool.Shared(memory)));
  }

  private static Argument place(Value value, long offset) {
    return value.isOmitted()
        ? Argument.NO_VALUE
        : new Location(0, offset, value.bytes().length, value.given());
  }

  private Optional<String> difference(Request request, Completed completed, MemorySegment memory) {
    for (int i = 0; i < outputs.size(); i++) {
      if (!(request.outputs().get(i) instanceof Location place)) {
        continue;
      }
      if (!model.main().output(i).isSizeKnown()) {
        Shape expected = outputs.get(i).actual();
        if (completed.outputs().size() != outputs.size()
            || !completed.outputs().get(i).shape().equals(expected)) {
          return Optional.of("output %d: its shape is not %s".formatted(i, expected));
        }
      }
      Optional<String> difference =
          comparison.difference(
              i,
              memory.asSlice(place.offset(), place.length()),
              MemorySegment.ofArray(outputs.get(i).bytes()));
      if (difference.isPresent()) {
        return difference;
      }
    }
    return Optional.empty();
  }

  /** Releases the constants; to be called once. */
  @Override
  public void close() {
    pools.close();
  }
}
