// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.Device;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.domain.Fixture.Mode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The 29 tests of memory domains that AOSP's vendor suite has, for each element type on which the
 * device takes a CONV_2D, or else an ADD. A device that claims no memory domain must refuse every
 * buffer, its own and foreign ones. Immutable.
 *
 * @param device under test
 */
public record DomainSuite(Device device) {
  /** Those of AOSP. */
  static final List<OperandCode> TYPES = List.of(ElementTypes.reals());

  private static final List<OperationCode> OPERATIONS =
      List.of(OperationCode.CONV_2D, OperationCode.ADD);

  public DomainSuite {
    Objects.requireNonNull(device, "device");
  }

  /** All checks that apply to the device, and a skipped one for each type that none does. */
  public List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    for (OperandCode type : TYPES) {
      Optional<DomainModel> model =
          OPERATIONS.stream()
              .map(operation -> DomainModel.of(operation, type))
              .filter(this::isTaken)
              .findFirst();
      if (model.isPresent()) {
        add(model.get(), checks);
      } else {
        OutcomeException skip = Expect.skip("the device takes no CONV_2D or ADD of " + type);
        checks.add(
            new Check(
                type.name(),
                () -> {
                  throw skip;
                }));
      }
    }
    return checks;
  }

  private boolean isTaken(DomainModel model) {
    try (TestGraph graph = model.build()) {
      return Probes.takes(device, graph.model());
    }
  }

  private void add(DomainModel model, List<Check> checks) {
    add(AllocateChecks.checks(), AllocateChecks::new, model, checks);
    if (device.info().memoryDomain()) {
      add(CopyChecks.checks(), CopyChecks::new, model, checks);
      addByMode(ExecutionChecks.checks(), model, checks);
    } else {
      add(
          Map.of("a buffer is refused", AllocateChecks::unclaimed),
          AllocateChecks::new,
          model,
          checks);
      addByMode(Map.of("InvalidToken", ExecutionChecks::token), model, checks);
    }
  }

  private <F extends Fixture> void add(
      Map<String, Fixture.Body<F>> bodies,
      Fixture.Maker<F> maker,
      DomainModel model,
      List<Check> checks) {
    bodies.forEach(
        (name, body) ->
            checks.add(check(name + " " + model.type(), model, Mode.SYNC, maker, body)));
  }

  private void addByMode(
      Map<String, Fixture.Body<ExecutionChecks>> bodies, DomainModel model, List<Check> checks) {
    bodies.forEach(
        (name, body) -> {
          for (Mode mode : Mode.values()) {
            String full = name + " " + model.type() + " " + mode;
            checks.add(check(full, model, mode, ExecutionChecks::new, body));
          }
        });
  }

  private <F extends Fixture> Check check(
      String name, DomainModel model, Mode mode, Fixture.Maker<F> maker, Fixture.Body<F> body) {
    return new Check(
        name,
        () -> {
          try (F fixture = maker.make(device, model, mode)) {
            body.run(fixture);
          }
        });
  }
}
