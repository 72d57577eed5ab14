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
import io.thalamus.tck.request.FilledMemory;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.VectorFormatException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Constants in every kind of shared memory: those that are claimed are read; for the others, the
 * device says that it does not support the operation, and refuses to prepare it.
 */
final class ConstantChecks {
  private static final int EXAMPLES = 6;
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
      findings.attempt(
          "constants in " + kind.halName(), () -> constants(subject.device(), examples, kind));
    }
  }

  /** Some examples that read a constant tensor, spread over all. */
  private static List<Example> examples(Subject subject) throws VectorFormatException {
    List<Example> all = new ArrayList<>();
    for (Example example : subject.singles()) {
      withConstant(example).filter(one -> isTaken(subject.device(), one)).ifPresent(all::add);
    }
    List<Example> some = new ArrayList<>();
    for (int i = 0; i < Math.min(EXAMPLES, all.size()); i++) {
      some.add(all.get(i * all.size() / Math.min(EXAMPLES, all.size())));
    }
    return some;
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

  private static boolean isTaken(Device device, Example example) {
    try (DecodedExample decoded = example.decode()) {
      return device.supportedOperations(decoded.model()).get(0);
    } catch (VectorFormatException | DeviceException | RuntimeException | Error e) {
      return true; // found by the check itself
    }
  }

  private static boolean isConstantTensor(Operand operand) {
    return operand.type().isTensor()
        && operand.lifetime() instanceof Lifetime.Constant constant
        && constant.bytes().byteSize() > 0;
  }

  private static Optional<String> constants(Device device, List<Example> examples, MemoryKind kind)
      throws Exception {
    for (Example example : examples) {
      try (DecodedExample decoded = example.decode();
          FilledMemory constants = FilledMemory.of(kind, constants(decoded.model()))) {
        Model moved = moved(decoded.model(), constants.memory());
        Optional<String> fault =
            device.info().memoryKinds().contains(kind)
                ? claimed(device, decoded, moved)
                : unclaimed(device, moved);
        if (fault.isPresent()) {
          return Optional.of(example.name() + ": " + fault.get());
        }
      }
    }
    return Optional.empty();
  }

  private static Optional<String> claimed(Device device, DecodedExample decoded, Model moved)
      throws DeviceException {
    if (!device.supportedOperations(moved).get(0)) {
      return Optional.of("it claims the kind, but does not support the operation");
    }
    byte[] expected;
    try (PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      expected = Probes.outputs(prepared, decoded);
    }
    try (PreparedModel prepared = device.prepare(moved, PrepareConfig.DEFAULT)) {
      return Arrays.equals(expected, Probes.outputs(prepared, decoded))
          ? Optional.empty()
          : Optional.of("the results differ from those with constants of the model's own");
    }
  }

  private static Optional<String> unclaimed(Device device, Model moved) throws DeviceException {
    return device.supportedOperations(moved).isEmpty()
        ? Probes.refused(
            () -> device.prepare(moved, PrepareConfig.DEFAULT).close(), ErrorStatus.GENERAL_FAILURE)
        : Optional.of("it does not claim the kind, but says that it supports the operation");
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
