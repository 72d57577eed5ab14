// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.Device;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The 29 tests of memory domains that AOSP's vendor suite has, for each element type on which the
 * device takes a CONV_2D, or else an ADD. A device that claims no memory domain must refuse every
 * buffer, its own and foreign ones. Immutable.
 *
 * @param device who is tested
 */
public record DomainSuite(Device device) {
  /** Those of AOSP. */
  static final List<OperandCode> TYPES =
      List.of(
          OperandCode.TENSOR_FLOAT32,
          OperandCode.TENSOR_FLOAT16,
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private static final List<OperationCode> OPERATIONS =
      List.of(OperationCode.CONV_2D, OperationCode.ADD);

  public DomainSuite {
    Objects.requireNonNull(device, "device");
  }

  /** All checks that apply to the device, and a skipped one for each type that none does. */
  public List<DomainCheck> checks() {
    List<DomainCheck> checks = new ArrayList<>();
    for (OperandCode type : TYPES) {
      DomainModel model = model(type);
      if (model == null) {
        Outcome skipped = new Outcome.Skipped("the device takes no CONV_2D or ADD of " + type);
        checks.add(new DomainCheck(type.name(), () -> skipped));
      } else {
        add(model, checks);
      }
    }
    return checks;
  }

  /** The model that a type is tried with; null where the device takes none. */
  private DomainModel model(OperandCode type) {
    for (OperationCode operation : OPERATIONS) {
      DomainModel model = DomainModel.of(operation, type);
      try (Fixture fixture = new Fixture(device, model)) {
        if (fixture.takes(model)) {
          return model;
        }
      }
    }
    return null;
  }

  private void add(DomainModel model, List<DomainCheck> checks) {
    AllocateChecks.checks().forEach((name, check) -> checks.add(check(name, model, check)));
    if (!device.info().memoryDomain()) {
      checks.add(check("a buffer is refused", model, AllocateChecks::unclaimed));
      for (Fixture.Mode mode : Fixture.Mode.values()) {
        checks.add(check("InvalidToken", model, mode, ExecutionChecks::token));
      }
      return;
    }
    CopyChecks.checks().forEach((name, check) -> checks.add(check(name, model, check)));
    for (Map.Entry<String, ExecutionChecks.Check> entry : ExecutionChecks.checks().entrySet()) {
      for (Fixture.Mode mode : Fixture.Mode.values()) {
        checks.add(check(entry.getKey(), model, mode, entry.getValue()));
      }
    }
  }

  private DomainCheck check(
      String name, DomainModel model, Fixture.Mode mode, ExecutionChecks.Check check) {
    return check(name, " " + mode, model, fixture -> check.run(fixture, mode));
  }

  private DomainCheck check(String name, DomainModel model, AllocateChecks.Check check) {
    return check(name, "", model, check);
  }

  private DomainCheck check(
      String name, String mode, DomainModel model, AllocateChecks.Check check) {
    return new DomainCheck(
        name + " " + model.type() + mode,
        () -> {
          try (Fixture fixture = new Fixture(device, model)) {
            return check.run(fixture);
          } catch (Fixture.NoBufferException e) {
            return new Outcome.Skipped(e.getMessage());
          }
        });
  }
}
