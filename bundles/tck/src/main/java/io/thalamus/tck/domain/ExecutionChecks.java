// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Requests whose arguments stand in buffers: AOSP's MemoryDomainExecutionTest. */
final class ExecutionChecks extends Fixture {
  private static final Shape OTHER = Shape.of(2, 32, 32, 8);

  ExecutionChecks(Device device, DomainModel usual, Mode mode) {
    super(device, usual, mode);
  }

  /** By AOSP's name. */
  static Map<String, Fixture.Body<ExecutionChecks>> checks() {
    Map<String, Fixture.Body<ExecutionChecks>> checks = new LinkedHashMap<>();
    checks.put("InvalidToken", ExecutionChecks::token);
    checks.put("InvalidPreparedModel", ExecutionChecks::otherModel);
    checks.put("InvalidIOIndex", ExecutionChecks::otherIndex);
    checks.put("InvalidIOType", ExecutionChecks::otherDirection);
    checks.put("UninitializedMemory", ExecutionChecks::uninitialized);
    checks.put("SameRequestMultipleRoles", ExecutionChecks::multipleRoles);
    checks.put("InvalidDimensions", ExecutionChecks::dimensions);
    return checks;
  }

  /** A buffer that the device does not know, whatever token it names. */
  private record ForeignBuffer(int token) implements DeviceBuffer {
    @Override
    public void copyTo(SharedMemory destination) throws DeviceException {
      throw DeviceException.failure("holds nothing");
    }

    @Override
    public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
      throw DeviceException.failure("takes nothing");
    }

    @Override
    public void close() {
      // Holds nothing.
    }
  }

  /** An execution of these arguments, each a {@link DeviceBuffer} or a {@link SharedMemory}. */
  private void executed(
      ErrorStatus wanted, String what, PreparedModel model, List<?> inputs, List<?> outputs)
      throws Exception {
    execute(wanted, what, model, request(inputs, outputs));
  }

  private void invalid(String what, PreparedModel model, List<?> inputs, List<?> outputs)
      throws Exception {
    executed(ErrorStatus.INVALID_ARGUMENT, what, model, inputs, outputs);
  }

  void token() throws Exception {
    PreparedModel model = prepare();
    for (int token : new int[] {0, 1, 100}) {
      List<?> foreign = List.of(new ForeignBuffer(token));
      String of = " of token " + token;
      invalid("a foreign input" + of, model, foreign, List.of(room()));
      invalid("a foreign output" + of, model, List.of(values()), foreign);
    }
  }

  /** Buffers of some roles stand where they may not. */
  private void misplaced(String what, BufferRole input, BufferRole output, PreparedModel model)
      throws Exception {
    invalid("an input for " + what, model, List.of(written(input)), List.of(room()));
    invalid("an output for " + what, model, List.of(values()), List.of(allocate(output)));
  }

  private void otherModel() throws Exception {
    PreparedModel other = prepare();
    misplaced("another model", in(other, 0), out(other, 0), prepare());
  }

  private void otherDirection() throws Exception {
    PreparedModel model = prepare();
    misplaced("the other direction", out(model, 0), in(model, 0), model);
  }

  private void otherIndex() throws Exception {
    PreparedModel model = prepare(usual().withLines(2));
    List<SharedMemory> values = List.of(values(), values());
    List<SharedMemory> rooms = List.of(room(), room());
    invalid(
        "an input for another index", model, List.of(values.get(0), written(in(model, 0))), rooms);
    invalid(
        "an output for another index",
        model,
        values,
        List.of(rooms.get(0), allocate(out(model, 0))));
  }

  /** Nothing is read before it was written; what is read then is what was written. */
  private void uninitialized() throws Exception {
    PreparedModel model = prepare();
    List<?> values = List.of(values());
    List<?> buffer = List.of(allocate(in(model, 0), out(model, 0)));
    List<?> between = List.of(room());
    SharedMemory actual = room();
    SharedMemory expected = room();
    executed(
        ErrorStatus.GENERAL_FAILURE, "an input that holds nothing", model, buffer, List.of(actual));
    done("an execution into a buffer", model, values, buffer);
    done("an execution from a buffer", model, buffer, List.of(actual));
    done("the same in shared memory", model, values, between);
    done("the same in shared memory", model, between, List.of(expected));
    expectEqual(expected, actual, "the result differs from that in shared memory");
  }

  private void done(String what, PreparedModel model, List<?> inputs, List<?> outputs)
      throws Exception {
    executed(ErrorStatus.NONE, what, model, inputs, outputs);
  }

  private void multipleRoles() throws Exception {
    PreparedModel model = prepare(usual().withLines(2));
    DeviceBuffer buffer = written(in(model, 0), in(model, 1), out(model, 0), out(model, 1));
    SharedMemory values = values();
    SharedMemory first = room();
    SharedMemory second = room();
    invalid(
        "one buffer as input and output", model, List.of(buffer, values), List.of(buffer, first));
    invalid("one buffer as two outputs", model, List.of(values, values), List.of(buffer, buffer));
    done("one buffer as two inputs", model, List.of(buffer, buffer), List.of(first, second));
    expectEqual(first, second, "two equal inputs gave different results");
  }

  private void dimensions() throws Exception {
    PreparedModel model = prepare();
    Request inputs = request(List.of(written(in(model, 0))), List.of(room()));
    Request outputs = request(List.of(values()), List.of(allocate(out(model, 0))));
    execute(
        ErrorStatus.INVALID_ARGUMENT,
        "an input of other dimensions",
        model,
        new Request(List.of(new Location(0, 0, 0, OTHER)), inputs.outputs(), inputs.pools()));
    execute(
        ErrorStatus.INVALID_ARGUMENT,
        "an output of other dimensions",
        model,
        new Request(outputs.inputs(), List.of(new Location(1, 0, 0, OTHER)), outputs.pools()));
    execute(
        ErrorStatus.INVALID_ARGUMENT,
        "a part of a buffer",
        model,
        new Request(
            List.of(new Location(0, 0, usual().bytes(), Shape.NONE)),
            inputs.outputs(),
            inputs.pools()));
    if (mode() == Mode.SYNC) {
      unfit();
    }
  }

  /** A result of other dimensions than the buffer's is found out when it is there. */
  private void unfit() throws Exception {
    DomainModel open = usual().with(Shape.of(0, 32, 32, 8));
    if (takes(open)) {
      PreparedModel model = prepare(open);
      SharedMemory values = values();
      Request request = request(List.of(values), List.of(allocate(OTHER, out(model, 0))));
      execute(
          ErrorStatus.GENERAL_FAILURE,
          "a result that does not fit its buffer",
          model,
          new Request(
              List.of(new Location(0, 0, values.size(), DomainModel.SHAPE)),
              request.outputs(),
              request.pools()));
    }
  }
}
