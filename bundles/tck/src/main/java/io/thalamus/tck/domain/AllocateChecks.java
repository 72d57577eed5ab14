// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import static io.thalamus.tck.domain.Fixture.all;
import static io.thalamus.tck.domain.Fixture.in;
import static io.thalamus.tck.domain.Fixture.out;
import static io.thalamus.tck.domain.Fixture.refused;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.vectors.Outcome;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Calls that {@code Device.allocate} must refuse: AOSP's MemoryDomainAllocateTest. */
final class AllocateChecks {
  private static final Shape OTHER_SIZE = Shape.of(1, 16, 32, 8);
  private static final Shape OTHER_RANK = Shape.of(32, 32, 8);

  private static final Set<ErrorStatus> INVALID = Set.of(ErrorStatus.INVALID_ARGUMENT);
  private static final Set<ErrorStatus> ANY =
      Set.of(ErrorStatus.INVALID_ARGUMENT, ErrorStatus.GENERAL_FAILURE);

  private AllocateChecks() {}

  /** One check with what it needs. */
  @FunctionalInterface
  interface Check {
    Outcome run(Fixture fixture) throws Exception;
  }

  /** By AOSP's name. */
  static Map<String, Check> checks() {
    Map<String, Check> checks = new LinkedHashMap<>();
    checks.put("EmptyRole", AllocateChecks::emptyRole);
    checks.put("NullptrPreparedModel", AllocateChecks::noModel);
    checks.put("InvalidPreparedModel", AllocateChecks::foreignModel);
    checks.put("InvalidModelIndex", AllocateChecks::noSuchModel);
    checks.put("InvalidIOIndex", AllocateChecks::index);
    checks.put("InvalidFrequency", AllocateChecks::frequency);
    checks.put("SameRoleSpecifiedTwice", AllocateChecks::twice);
    checks.put("ConflictOperandType", AllocateChecks::type);
    checks.put(
        "ConflictScale", fixture -> quantization(fixture, Quantization.of(0.5f, 10), "scale"));
    checks.put(
        "ConflictZeroPoint",
        fixture -> quantization(fixture, Quantization.of(0.25f, 11), "zero point"));
    checks.put("ConflictRankBetweenRoles", AllocateChecks::rank);
    checks.put("ConflictDimensionsBetweenRoles", AllocateChecks::dimensions);
    checks.put("ConflictRankBetweenRoleAndDesc", fixture -> desc(fixture, OTHER_RANK));
    checks.put("ConflictDimensionsBetweenRoleAndDesc", fixture -> desc(fixture, OTHER_SIZE));
    checks.put("ConflictRankWithScalarRole", AllocateChecks::scalar);
    return checks;
  }

  private static Outcome invalid(Fixture fixture, String what, Shape shape, BufferRole... roles)
      throws Exception {
    // A device without buffers need not look at what is wrong with one.
    return refused(
        fixture.device().info().memoryDomain() ? INVALID : ANY,
        what,
        () -> fixture.device().allocate(new BufferDesc(shape), List.of(roles)).close());
  }

  private static Outcome invalid(Fixture fixture, String what, BufferRole... roles)
      throws Exception {
    return invalid(fixture, what, Shape.NONE, roles);
  }

  private static Outcome emptyRole(Fixture fixture) throws Exception {
    return invalid(fixture, "a buffer without roles", DomainModel.SHAPE);
  }

  /** A role without a model cannot be written down: its constructor refuses it. */
  private static Outcome noModel(Fixture fixture) {
    try {
      return new Outcome.Failed("there can be " + in(null, 0));
    } catch (NullPointerException e) {
      return Outcome.PASSED;
    }
  }

  private static Outcome foreignModel(Fixture fixture) throws Exception {
    PreparedModel own = fixture.prepare();
    PreparedModel foreign =
        new PreparedModel() {
          @Override
          public ExecutionResult execute(Request request, ExecutionConfig config) {
            return own.execute(request, config);
          }

          @Override
          public void close() {
            // Its owner closes what it stands for.
          }
        };
    return all(
        invalid(fixture, "a foreign model", in(foreign, 0)),
        invalid(fixture, "a foreign model beside an own one", in(own, 0), in(foreign, 0)));
  }

  /**
   * A role names its model by itself rather than by an index into a list; a list that is too short
   * is like a model that is on it and not the device's: here, one of another kind.
   */
  private static Outcome noSuchModel(Fixture fixture) throws Exception {
    PreparedModel foreign =
        new PreparedModel() {
          @Override
          public ExecutionResult execute(Request request, ExecutionConfig config) {
            return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "never executed");
          }

          @Override
          public void close() {
            // Holds nothing.
          }
        };
    return invalid(fixture, "a model of nobody", DomainModel.SHAPE, out(foreign, 0));
  }

  private static Outcome index(Fixture fixture) throws Exception {
    PreparedModel model = fixture.prepare();
    return all(
        invalid(fixture, "input 1 of 1", in(model, 1)),
        invalid(fixture, "output 1 of 1", out(model, 1)),
        invalid(fixture, "input -1", in(model, -1)),
        invalid(fixture, "output -1", out(model, -1)));
  }

  private static Outcome frequency(Fixture fixture) throws Exception {
    PreparedModel model = fixture.prepare();
    for (Direction direction : Direction.values()) {
      for (float frequency : new float[] {10, 0, -0.5f, Float.NaN}) {
        Outcome outcome =
            invalid(
                fixture,
                "a frequency of " + frequency,
                new BufferRole(model, direction, 0, frequency));
        if (!(outcome instanceof Outcome.Passed)) {
          return outcome;
        }
      }
    }
    return Outcome.PASSED;
  }

  private static Outcome twice(Fixture fixture) throws Exception {
    PreparedModel model = fixture.prepare();
    return all(
        invalid(fixture, "an input twice", in(model, 0), in(model, 0)),
        invalid(fixture, "an output twice", out(model, 0), in(model, 0), out(model, 0)),
        invalid(
            fixture,
            "an input twice, differently often",
            in(model, 0),
            new BufferRole(model, Direction.INPUT, 0, 0.5f)));
  }

  private static Outcome type(Fixture fixture) throws Exception {
    DomainModel usual = fixture.usual();
    for (OperandCode type : DomainSuite.TYPES) {
      DomainModel other = DomainModel.of(usual.operation(), type);
      if (type != usual.type() && fixture.takes(other)) {
        return invalid(
            fixture,
            "a buffer of " + usual.type() + " and " + type,
            in(fixture.prepare(), 0),
            in(fixture.prepare(other), 0));
      }
    }
    return new Outcome.Skipped("the device takes the operation in one type only");
  }

  private static Outcome quantization(Fixture fixture, Quantization other, String what)
      throws Exception {
    if (!DomainModel.isQuantized(fixture.usual().type())) {
      return new Outcome.Skipped("a value of " + fixture.usual().type() + " has no " + what);
    }
    return invalid(
        fixture,
        "another " + what,
        in(fixture.prepare(), 0),
        in(fixture.prepare(fixture.usual().with(other)), 0));
  }

  private static Outcome rank(Fixture fixture) throws Exception {
    // The rank of a convolution is 4.
    DomainModel other = DomainModel.of(OperationCode.ADD, fixture.usual().type()).with(OTHER_RANK);
    if (!fixture.takes(other)) {
      return new Outcome.Skipped("the device takes no ADD of rank 3");
    }
    return invalid(
        fixture, "another rank", in(fixture.prepare(), 0), in(fixture.prepare(other), 0));
  }

  private static Outcome dimensions(Fixture fixture) throws Exception {
    PreparedModel other = fixture.prepare(fixture.usual().with(OTHER_SIZE));
    return all(
        invalid(fixture, "another size", in(fixture.prepare(), 0), in(other, 0)),
        invalid(fixture, "another size of an output", in(fixture.prepare(), 0), out(other, 0)));
  }

  private static Outcome desc(Fixture fixture, Shape shape) throws Exception {
    PreparedModel model = fixture.prepare();
    return all(
        invalid(fixture, "an input as " + shape, shape, in(model, 0)),
        invalid(fixture, "an output as " + shape, shape, out(model, 0)));
  }

  /** Of a device that claims no memory domain. */
  static Outcome unclaimed(Fixture fixture) throws Exception {
    PreparedModel model = fixture.prepare();
    return refused(
        Set.of(ErrorStatus.GENERAL_FAILURE),
        "a buffer that nobody claims",
        () ->
            fixture
                .device()
                .allocate(new BufferDesc(DomainModel.SHAPE), List.of(in(model, 0)))
                .close());
  }

  private static Outcome scalar(Fixture fixture) throws Exception {
    PreparedModel model = fixture.prepareIfTaken(fixture.usual().withScalarInput());
    if (model == null) {
      return new Outcome.Skipped("the device takes no ADD whose activation is an input");
    }
    return invalid(fixture, "a scalar with a dimension", Shape.of(1), in(model, 1));
  }
}
