// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.Expect;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Calls that {@code Device.allocate} must refuse: AOSP's MemoryDomainAllocateTest. */
final class AllocateChecks extends Fixture {
  private static final Shape OTHER_SIZE = Shape.of(1, 16, 32, 8);
  private static final Shape OTHER_RANK = Shape.of(32, 32, 8);

  AllocateChecks(Device device, DomainModel usual, Mode mode) {
    super(device, usual, mode);
  }

  /** By AOSP's name. */
  static Map<String, Fixture.Body<AllocateChecks>> checks() {
    Map<String, Fixture.Body<AllocateChecks>> checks = new LinkedHashMap<>();
    checks.put("EmptyRole", own -> own.invalid("a buffer without roles", DomainModel.SHAPE));
    checks.put("NullptrPreparedModel", AllocateChecks::noModel);
    checks.put("InvalidPreparedModel", AllocateChecks::foreignModel);
    checks.put("InvalidModelIndex", AllocateChecks::noSuchModel);
    checks.put("InvalidIOIndex", AllocateChecks::index);
    checks.put("InvalidFrequency", AllocateChecks::frequency);
    checks.put("SameRoleSpecifiedTwice", AllocateChecks::twice);
    checks.put("ConflictOperandType", AllocateChecks::type);
    checks.put("ConflictScale", own -> own.quantization(Quantization.of(0.5f, 10), "scale"));
    checks.put(
        "ConflictZeroPoint", own -> own.quantization(Quantization.of(0.25f, 11), "zero point"));
    checks.put("ConflictRankBetweenRoles", AllocateChecks::rank);
    checks.put("ConflictDimensionsBetweenRoles", AllocateChecks::dimensions);
    checks.put("ConflictRankBetweenRoleAndDesc", own -> own.desc(OTHER_RANK));
    checks.put("ConflictDimensionsBetweenRoleAndDesc", own -> own.desc(OTHER_SIZE));
    checks.put("ConflictRankWithScalarRole", AllocateChecks::scalar);
    return checks;
  }

  private void refused(String what, Shape shape, List<BufferRole> roles, ErrorStatus... wanted)
      throws Exception {
    Expect.refused(what, () -> device().allocate(new BufferDesc(shape), roles).close(), wanted);
  }

  private void invalid(String what, Shape shape, BufferRole... roles) throws Exception {
    // A device without buffers need not look at what is wrong with one.
    refused(
        what,
        shape,
        List.of(roles),
        ErrorStatus.INVALID_ARGUMENT,
        device().info().memoryDomain()
            ? ErrorStatus.INVALID_ARGUMENT
            : ErrorStatus.GENERAL_FAILURE);
  }

  private void invalid(String what, BufferRole... roles) throws Exception {
    invalid(what, Shape.NONE, roles);
  }

  /** A role without a model cannot be written down: its constructor refuses it. */
  private void noModel() {
    try {
      throw Expect.failure("there can be " + in(null, 0));
    } catch (NullPointerException e) {
      // As it must be.
    }
  }

  /** A model that is none of the device's, though it does what one does. */
  private record ForeignModel(PreparedModel own) implements PreparedModel {
    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return own.execute(request, config);
    }

    @Override
    public void close() {
      // Its owner closes what it stands for.
    }
  }

  private void foreignModel() throws Exception {
    PreparedModel own = prepare();
    PreparedModel foreign = new ForeignModel(own);
    invalid("a foreign model", in(foreign, 0));
    invalid("a foreign model beside an own one", in(own, 0), in(foreign, 0));
  }

  /**
   * A role names its model by itself rather than by an index into a list; a list that is too short
   * is like a model that is on it and not the device's.
   */
  private void noSuchModel() throws Exception {
    PreparedModel foreign = new ForeignModel(prepare());
    invalid("a model of nobody", DomainModel.SHAPE, out(foreign, 0));
  }

  private void index() throws Exception {
    PreparedModel model = prepare();
    for (int index : new int[] {1, -1}) {
      invalid("input " + index + " of 1", in(model, index));
      invalid("output " + index + " of 1", out(model, index));
    }
  }

  private void frequency() throws Exception {
    PreparedModel model = prepare();
    for (Direction direction : Direction.values()) {
      for (float frequency : new float[] {10, 0, -0.5f, Float.NaN}) {
        invalid("a frequency of " + frequency, new BufferRole(model, direction, 0, frequency));
      }
    }
  }

  private void twice() throws Exception {
    PreparedModel model = prepare();
    invalid("an input twice", in(model, 0), in(model, 0));
    invalid("an output twice", out(model, 0), in(model, 0), out(model, 0));
    invalid(
        "an input twice, differently often",
        in(model, 0),
        new BufferRole(model, Direction.INPUT, 0, 0.5f));
  }

  private void type() throws Exception {
    DomainModel usual = usual();
    for (OperandCode type : DomainSuite.TYPES) {
      DomainModel other = DomainModel.of(usual.operation(), type);
      if (type != usual.type() && takes(other)) {
        invalid(
            "a buffer of " + usual.type() + " and " + type,
            in(prepare(), 0),
            in(prepare(other), 0));
        return;
      }
    }
    throw Expect.skip("the device takes the operation in one type only");
  }

  private void quantization(Quantization other, String what) throws Exception {
    if (!DomainModel.isQuantized(usual().type())) {
      throw Expect.skip("a value of " + usual().type() + " has no " + what);
    }
    invalid("another " + what, in(prepare(), 0), in(prepare(usual().with(other)), 0));
  }

  private void rank() throws Exception {
    // The rank of a convolution is 4.
    DomainModel other = DomainModel.of(OperationCode.ADD, usual().type()).with(OTHER_RANK);
    skipUnlessTaken(other, "ADD of rank 3");
    invalid("another rank", in(prepare(), 0), in(prepare(other), 0));
  }

  private void dimensions() throws Exception {
    PreparedModel other = prepare(usual().with(OTHER_SIZE));
    invalid("another size", in(prepare(), 0), in(other, 0));
    invalid("another size of an output", in(prepare(), 0), out(other, 0));
  }

  private void desc(Shape shape) throws Exception {
    PreparedModel model = prepare();
    invalid("an input as " + shape, shape, in(model, 0));
    invalid("an output as " + shape, shape, out(model, 0));
  }

  /** Of a device that claims no memory domain. */
  void unclaimed() throws Exception {
    refused(
        "a buffer that nobody claims",
        DomainModel.SHAPE,
        List.of(in(prepare(), 0)),
        ErrorStatus.GENERAL_FAILURE);
  }

  private void scalar() throws Exception {
    DomainModel other = usual().withScalarInput();
    skipUnlessTaken(other, "ADD whose activation is an input");
    invalid("a scalar with a dimension", Shape.of(1), in(prepare(other), 1));
  }
}
