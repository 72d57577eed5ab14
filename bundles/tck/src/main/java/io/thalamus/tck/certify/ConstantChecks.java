// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.FilledMemory;
import io.thalamus.tck.check.Probes;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.VectorFormatException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Constants in every kind of shared memory: those that are claimed are read; for the others, the
 * device says that it does not support the operation, and refuses to prepare it.
 */
final class ConstantChecks {
  private static final int ALIGNMENT = 64;

  private ConstantChecks() {}

  static void run(Subject subject, Findings findings)
      throws InterruptedException, VectorFormatException {
    List<Example> examples = examples(subject);
    if (examples.isEmpty()) {
      findings.skip("constants", "the device takes no operation of the kit with a constant tensor");
      return;
    }
    for (MemoryKind kind : MemoryKind.values()) {
      findings.run(
          "constants in " + kind.halName(), () -> constants(subject.device(), examples, kind));
    }
  }

  /** Some examples that read a constant tensor, spread over all. */
  private static List<Example> examples(Subject subject) throws VectorFormatException {
    List<Example> all = new ArrayList<>();
    for (Example example : subject.singles()) {
      withConstant(example).filter(one -> Probes.takes(subject.device(), one)).ifPresent(all::add);
    }
    return Subject.some(all);
  }

  /** The example with its last input as a constant, where it has several and no constant tensor. */
  private static Optional<Example> withConstant(Example example) throws VectorFormatException {
    try (DecodedExample decoded = example.decode()) {
      if (decoded.model().main().operands().stream().anyMatch(ConstantChecks::isConstantTensor)) {
        return Optional.of(example);
      }
    }
    Example.Input last = example.inputs().getLast();
    if (example.inputs().size() < 2 || last.values().isEmpty()) {
      return Optional.empty();
    }
    List<RawOperand> operands = new ArrayList<>(example.main().operands());
    operands.set(
        last.operand(),
        operands
            .get(last.operand())
            .withLifetime("CONSTANT_COPY")
            .withValues(Optional.of(last.values())));
    int inputs = example.inputs().size() - 1;
    return Optional.of(
        example
            .withMain(
                example
                    .main()
                    .withOperands(operands)
                    .withInputIndexes(example.main().inputIndexes().subList(0, inputs)))
            .withData(example.inputs().subList(0, inputs), example.expectedOutputs()));
  }

  private static boolean isConstantTensor(Operand operand) {
    return operand.type().isTensor()
        && operand.lifetime() instanceof Lifetime.Constant constant
        && constant.bytes().byteSize() > 0;
  }

  private static void constants(Device device, List<Example> examples, MemoryKind kind)
      throws Exception {
    for (Example example : examples) {
      try (DecodedExample decoded = example.decode();
          FilledMemory constants = FilledMemory.of(kind, constants(decoded.model()))) {
        Model moved = moved(decoded.model(), constants.memory());
        boolean claimed = device.info().memoryKinds().contains(kind);
        Expect.at(
            example.name(),
            () -> {
              if (claimed) {
                claimed(device, decoded, moved);
              } else {
                unclaimed(device, moved);
              }
            });
      }
    }
  }

  private static void claimed(Device device, DecodedExample decoded, Model moved)
      throws DeviceException {
    Expect.that(
        device.supportedOperations(moved).get(0),
        "it claims the kind, but does not support the operation");
    byte[] expected;
    try (PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      expected = Probes.outputs(prepared, decoded);
    }
    try (PreparedModel prepared = device.prepare(moved, PrepareConfig.DEFAULT)) {
      Expect.equal(
          expected,
          Probes.outputs(prepared, decoded),
          "the results differ from those with constants of the model's own");
    }
  }

  private static void unclaimed(Device device, Model moved) throws Exception {
    Expect.that(
        device.supportedOperations(moved).isEmpty(),
        "it does not claim the kind, but says that it supports the operation");
    Expect.refused(
        "it",
        () -> device.prepare(moved, PrepareConfig.DEFAULT).close(),
        ErrorStatus.GENERAL_FAILURE);
  }

  /** The bytes of all constant tensors, each at a multiple of the alignment. */
  private static MemorySegment constants(Model model) {
    List<MemorySegment> values =
        model.main().operands().stream()
            .filter(ConstantChecks::isConstantTensor)
            .map(operand -> ((Lifetime.Constant) operand.lifetime()).bytes())
            .toList();
    MemorySegment all =
        MemorySegment.ofArray(
            new byte[(int) values.stream().mapToLong(ConstantChecks::room).sum()]);
    long at = 0;
    for (MemorySegment value : values) {
      MemorySegment.copy(value, 0, all, at, value.byteSize());
      at += room(value);
    }
    return all;
  }

  private static long room(MemorySegment value) {
    return (value.byteSize() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** The model with its constant tensors in a memory that {@link #constants} filled. */
  private static Model moved(Model model, SharedMemory memory) {
    Subgraph main = model.main();
    List<Operand> operands = new ArrayList<>();
    long at = 0;
    for (Operand operand : main.operands()) {
      if (!isConstantTensor(operand)) {
        operands.add(operand);
        continue;
      }
      MemorySegment value = ((Lifetime.Constant) operand.lifetime()).bytes();
      operands.add(operand.with(new Lifetime.ConstantReference(memory, at, value.byteSize())));
      at += room(value);
    }
    return new Model(
        new Subgraph(operands, main.operations(), main.inputIndexes(), main.outputIndexes()),
        model.referenced(),
        model.relaxComputationFloat32toFloat16());
  }
}
