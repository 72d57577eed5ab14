// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import static io.thalamus.tck.domain.Fixture.all;
import static io.thalamus.tck.domain.Fixture.ended;
import static io.thalamus.tck.domain.Fixture.in;
import static io.thalamus.tck.domain.Fixture.out;
import static io.thalamus.tck.domain.Fixture.request;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.tck.domain.Fixture.Mode;
import io.thalamus.vectors.Outcome;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Requests whose arguments stand in buffers: AOSP's MemoryDomainExecutionTest. */
final class ExecutionChecks {
  private static final Shape OTHER = Shape.of(2, 32, 32, 8);

  private ExecutionChecks() {}

  /** One check by one way to execute. */
  @FunctionalInterface
  interface Check {
    Outcome run(Fixture fixture, Mode mode) throws Exception;
  }

  /** By AOSP's name. */
  static Map<String, Check> checks() {
    Map<String, Check> checks = new LinkedHashMap<>();
    checks.put("InvalidToken", ExecutionChecks::token);
    checks.put("InvalidPreparedModel", ExecutionChecks::otherModel);
    checks.put("InvalidIOIndex", ExecutionChecks::otherIndex);
    checks.put("InvalidIOType", ExecutionChecks::otherDirection);
    checks.put("UninitializedMemory", ExecutionChecks::uninitialized);
    checks.put("SameRequestMultipleRoles", ExecutionChecks::multipleRoles);
    checks.put("InvalidDimensions", ExecutionChecks::dimensions);
    return checks;
  }

  private static Outcome executed(
      ErrorStatus wanted, String what, PreparedModel model, Request request, Mode mode)
      throws Exception {
    return ended(wanted, what, Fixture.execute(model, request, mode));
  }

  private static Outcome invalid(String what, PreparedModel model, Request request, Mode mode)
      throws Exception {
    return executed(ErrorStatus.INVALID_ARGUMENT, what, model, request, mode);
  }

  /** A buffer that the device does not know, whatever token it names. */
  private record ForeignBuffer(int token) implements DeviceBuffer {
    @Override
    public void copyTo(SharedMemory destination) throws DeviceException {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "holds nothing");
    }

    @Override
    public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "takes nothing");
    }

    @Override
    public void close() {
      // Holds nothing.
    }
  }

  static Outcome token(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare();
    Outcome outcome = Outcome.PASSED;
    for (int token : new int[] {0, 1, 100}) {
      DeviceBuffer foreign = new ForeignBuffer(token);
      outcome =
          all(
              outcome,
              invalid(
                  "a foreign input of token " + token,
                  model,
                  request(List.of(foreign), List.of(fixture.room())),
                  mode),
              invalid(
                  "a foreign output of token " + token,
                  model,
                  request(List.of(fixture.values()), List.of(foreign)),
                  mode));
    }
    return outcome;
  }

  private static Outcome otherModel(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare();
    PreparedModel other = fixture.prepare();
    return all(
        invalid(
            "an input for another model",
            model,
            request(List.of(fixture.written(in(other, 0))), List.of(fixture.room())),
            mode),
        invalid(
            "an output for another model",
            model,
            request(List.of(fixture.values()), List.of(fixture.allocate(out(other, 0)))),
            mode));
  }

  private static Outcome otherIndex(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare(fixture.usual().withLines(2));
    List<SharedMemory> values = List.of(fixture.values(), fixture.values());
    List<SharedMemory> rooms = List.of(fixture.room(), fixture.room());
    return all(
        invalid(
            "an input for another index",
            model,
            request(List.of(values.get(0), fixture.written(in(model, 0))), rooms),
            mode),
        invalid(
            "an output for another index",
            model,
            request(values, List.of(rooms.get(0), fixture.allocate(out(model, 0)))),
            mode));
  }

  private static Outcome otherDirection(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare();
    return all(
        invalid(
            "an output as input",
            model,
            request(List.of(fixture.written(out(model, 0))), List.of(fixture.room())),
            mode),
        invalid(
            "an input as output",
            model,
            request(List.of(fixture.values()), List.of(fixture.allocate(in(model, 0)))),
            mode));
  }

  /** Nothing is read before it was written; what is read then is what was written. */
  private static Outcome uninitialized(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare();
    DeviceBuffer buffer = fixture.allocate(in(model, 0), out(model, 0));
    SharedMemory actual = fixture.room();
    SharedMemory between = fixture.room();
    SharedMemory expected = fixture.room();
    Request read = request(List.of(buffer), List.of(actual));
    return all(
        executed(ErrorStatus.GENERAL_FAILURE, "an input that holds nothing", model, read, mode),
        executed(
            ErrorStatus.NONE,
            "an execution into a buffer",
            model,
            request(List.of(fixture.values()), List.of(buffer)),
            mode),
        executed(ErrorStatus.NONE, "an execution from a buffer", model, read, mode),
        executed(
            ErrorStatus.NONE,
            "the same in shared memory",
            model,
            request(List.of(fixture.values()), List.of(between)),
            mode),
        executed(
            ErrorStatus.NONE,
            "the same in shared memory",
            model,
            request(List.of(between), List.of(expected)),
            mode),
        expected.segment().mismatch(actual.segment()) < 0
            ? Outcome.PASSED
            : new Outcome.Failed("the result differs from that in shared memory"));
  }

  private static Outcome multipleRoles(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare(fixture.usual().withLines(2));
    DeviceBuffer buffer = fixture.written(in(model, 0), in(model, 1), out(model, 0), out(model, 1));
    List<SharedMemory> rooms = List.of(fixture.room(), fixture.room());
    return all(
        invalid(
            "one buffer as input and output",
            model,
            request(List.of(buffer, fixture.values()), List.of(buffer, rooms.get(0))),
            mode),
        invalid(
            "one buffer as two outputs",
            model,
            request(List.of(fixture.values(), fixture.values()), List.of(buffer, buffer)),
            mode),
        executed(
            ErrorStatus.NONE,
            "one buffer as two inputs",
            model,
            request(List.of(buffer, buffer), rooms),
            mode),
        rooms.get(0).segment().mismatch(rooms.get(1).segment()) < 0
            ? Outcome.PASSED
            : new Outcome.Failed("two equal inputs gave different results"));
  }

  private static Outcome dimensions(Fixture fixture, Mode mode) throws Exception {
    PreparedModel model = fixture.prepare();
    Request inputs = request(List.of(fixture.written(in(model, 0))), List.of(fixture.room()));
    Request outputs = request(List.of(fixture.values()), List.of(fixture.allocate(out(model, 0))));
    Location wrong = new Location(0, 0, 0, OTHER);
    return all(
        invalid(
            "an input of other dimensions",
            model,
            new Request(List.of(wrong), inputs.outputs(), inputs.pools()),
            mode),
        invalid(
            "an output of other dimensions",
            model,
            new Request(outputs.inputs(), List.of(new Location(1, 0, 0, OTHER)), outputs.pools()),
            mode),
        invalid(
            "a part of a buffer",
            model,
            new Request(
                List.of(new Location(0, 0, fixture.usual().bytes(), Shape.NONE)),
                inputs.outputs(),
                inputs.pools()),
            mode),
        mode == Mode.FENCED ? Outcome.PASSED : unfit(fixture, mode));
  }

  /** A result of other dimensions than the buffer's is found out when it is there. */
  private static Outcome unfit(Fixture fixture, Mode mode) throws Exception {
    DomainModel open = fixture.usual().with(Shape.of(0, 32, 32, 8));
    if (!fixture.takes(open)) {
      return Outcome.PASSED;
    }
    PreparedModel model = fixture.prepare(open);
    DeviceBuffer buffer = fixture.allocate(OTHER, out(model, 0));
    SharedMemory values = fixture.values();
    Request request = request(List.of(values), List.of(buffer));
    Request stated =
        new Request(
            List.of(new Location(0, 0, values.size(), DomainModel.SHAPE)),
            request.outputs(),
            request.pools());
    return executed(
        ErrorStatus.GENERAL_FAILURE, "a result that does not fit its buffer", model, stated, mode);
  }
}
