// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.vectors.RunOptions.Inputs;
import io.thalamus.vectors.RunOptions.Mode;
import io.thalamus.vectors.RunOptions.Outputs;
import io.thalamus.vectors.Target.Answer;
import io.thalamus.vectors.Target.Prepared;
import io.thalamus.vectors.Target.Refusal;
import io.thalamus.vectors.Target.Settings;
import io.thalamus.vectors.Target.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Runs single examples on a target and judges the results by AOSP's rules. Thread-safe.
 *
 * <p>AOSP's demands on each path are in the reference of the vendor test suite: DynamicOutputShape,
 * FencedCompute and InfiniteLoopTimeout tests of NN HAL 1.3. Beyond it, no byte outside the outputs
 * and no input may change.
 */
public final class VectorRunner {
  /** AOSP's for models that loop for ever. */
  private static final Duration SHORT_LOOP = Duration.ofMillis(1);

  private static final FeatureLevel NEWEST =
      Arrays.stream(FeatureLevel.values()).reduce(FeatureLevel::max).orElseThrow();

  private final Target target;
  private final RunOptions options;

  /** A runner for one target and path. */
  public VectorRunner(Target target, RunOptions options) {
    this.target = Objects.requireNonNull(target, "target");
    this.options = Objects.requireNonNull(options, "options");
  }

  /**
   * Decodes and runs an example. Never throws for what the example or the target does wrong; the
   * outcome tells.
   */
  public Outcome run(Example example) {
    Optional<String> level = example.halVersion().filter(VectorRunner::isUnknown);
    if (level.isPresent()) {
      return new Outcome.Skipped(
          "the model needs feature level " + level.get() + ", beyond " + NEWEST);
    }
    try (DecodedExample decoded = example.decode()) {
      return run(decoded);
    } catch (VectorFormatException e) {
      return example.expectFailure() ? Outcome.PASSED : new Outcome.Failed(e.getMessage());
    }
  }

  private static boolean isUnknown(String level) {
    return Arrays.stream(FeatureLevel.values()).noneMatch(known -> known.name().equals(level));
  }

  /** Runs an example, which stays the caller's. */
  public Outcome run(DecodedExample example) {
    try {
      return runUnguarded(example);
    } catch (RuntimeException | Error e) {
      // A kernel's StackOverflowError is a finding as well, not the end of a suite.
      return Outcome.Failed.of(e);
    }
  }

  private Outcome runUnguarded(DecodedExample example) {
    Optional<String> inapplicable = inapplicable(example);
    if (inapplicable.isPresent()) {
      return new Outcome.Skipped(inapplicable.get());
    }
    boolean mustFail = example.example().expectFailure();
    Model model = mustFail ? example.model() : withDimensionsLeftOpen(example);
    try {
      if (!mustFail || example.example().isInfiniteLoop()) {
        Optional<String> unsupported = unsupported(model);
        if (unsupported.isPresent()) {
          return new Outcome.Skipped(unsupported.get());
        }
      }
      try (Prepared prepared = target.prepare(model)) {
        return execute(example, model, prepared);
      }
    } catch (Refusal e) {
      return refused(example, e);
    }
  }

  private static Outcome refused(DecodedExample example, Refusal refusal) {
    if (!example.example().expectFailure()) {
      return new Outcome.Failed("not prepared: " + refusal.getMessage());
    }
    if (example.example().isInfiniteLoop() && refusal.status() != Status.MISSED_DEADLINE) {
      return new Outcome.Failed(
          "an infinite loop must miss its deadline, but was refused: " + refusal.getMessage());
    }
    return Outcome.PASSED;
  }

  /** Returns why an example cannot be run in this way at all. */
  private Optional<String> inapplicable(DecodedExample example) {
    if (!target.modes().contains(options.mode())) {
      return Optional.of(target.name() + " does not execute in mode " + options.mode());
    }
    if (options.outputs() == Outputs.FULLY_SPECIFIED || example.example().expectFailure()) {
      return Optional.empty();
    }
    if (example.outputs().stream().anyMatch(output -> !output.operand().type().isTensor())) {
      return Optional.of("a scalar output has no dimensions to leave open");
    }
    if (options.outputs() == Outputs.INSUFFICIENT && example.outputs().getFirst().byteSize() <= 1) {
      return Optional.of("output 0 of at most one byte cannot be a byte short");
    }
    return Optional.empty();
  }

  private Optional<String> unsupported(Model model) throws Refusal {
    BitSet supported = target.supportedOperations(model);
    List<Operation> operations = model.main().operations();
    int missing = supported.nextClearBit(0);
    return missing >= operations.size()
        ? Optional.empty()
        : Optional.of(
            target.name() + " does not support " + text(model.main(), operations.get(missing)));
  }

  /** An operation with the type that it works on: that of its first tensor. */
  private static String text(Subgraph subgraph, Operation operation) {
    String name = operation.type().text();
    return operation.inputs().stream()
        .map(index -> subgraph.operands().get(index).type())
        .filter(OperandType::isTensor)
        .findFirst()
        .map(type -> name + " " + type.text())
        .orElse(name);
  }

  /** The model without the dimensions that the options leave unspecified; ranks stay. */
  private Model withDimensionsLeftOpen(DecodedExample example) {
    Model model = example.model();
    Subgraph main = model.main();
    List<Integer> left = new ArrayList<>();
    if (options.outputs() != Outputs.FULLY_SPECIFIED) {
      left.addAll(main.outputIndexes());
    }
    if (options.inputs() == Inputs.UNSPECIFIED) {
      for (int i = 0; i < example.inputs().size(); i++) {
        int index = main.inputIndexes().get(i);
        // Nobody would say the dimensions of an argument that is omitted.
        if (example.inputs().get(i).bytes().length > 0 && !isCondition(main, index)) {
          left.add(index);
        }
      }
    }
    if (left.isEmpty()) {
      return model;
    }
    List<Operand> operands = new ArrayList<>(main.operands());
    for (int index : left) {
      Operand operand = operands.get(index);
      operands.set(index, operand.with(open(operand)));
    }
    return new Model(
        new Subgraph(operands, main.operations(), main.inputIndexes(), main.outputIndexes()),
        model.referenced(),
        model.relaxComputationFloat32toFloat16());
  }

  /** Returns whether an IF decides by an operand: NNAPI wants it declared as a single element. */
  private static boolean isCondition(Subgraph graph, int operand) {
    return graph.operations().stream()
        .anyMatch(
            operation ->
                operation.type() == OperationCode.IF && operation.inputs().indexOf(operand) == 0);
  }

  /** The rank of an operand; of its dimensions, only how many channels have a scale each. */
  private static Shape open(Operand operand) {
    Shape open = Shape.of(new int[operand.shape().rank()]);
    return operand.quantization() instanceof Quantization.PerChannel scales
        ? open.with(scales.channelDimension(), operand.shape().dimension(scales.channelDimension()))
        : open;
  }

  private Outcome execute(DecodedExample example, Model model, Prepared prepared) {
    boolean mustFail = example.example().expectFailure();
    boolean shorten = !mustFail && options.outputs() == Outputs.INSUFFICIENT;
    Settings settings =
        new Settings(
            options.mode(),
            options.measureTiming(),
            example.example().isInfiniteLoop() ? SHORT_LOOP : ExecutionConfig.DEFAULT_LOOP_TIMEOUT);
    try (ExampleMemory memory = ExampleMemory.of(example, model, shorten)) {
      Answer answer = prepared.execute(memory.arguments(), settings);
      Optional<String> wrong = mustFail ? failure(example, answer) : judge(example, model, answer);
      if (wrong.isEmpty()) {
        wrong = memory.damage();
      }
      if (wrong.isEmpty() && !mustFail && answer.status() == Status.DONE) {
        wrong = compare(example, memory);
      }
      return wrong.isEmpty() ? Outcome.PASSED : new Outcome.Failed(wrong.get());
    }
  }

  private static Optional<String> failure(DecodedExample example, Answer answer) {
    if (example.example().isInfiniteLoop() && answer.status() != Status.MISSED_DEADLINE) {
      return Optional.of("an infinite loop must miss its deadline, but ended with " + text(answer));
    }
    return answer.status() == Status.DONE
        ? Optional.of("must fail, but was executed")
        : Optional.empty();
  }

  private static String text(Answer answer) {
    return answer.message().isEmpty() ? answer.status().name() : answer.message();
  }

  /** Returns what is wrong with an answer, its values aside. */
  private Optional<String> judge(DecodedExample example, Model model, Answer answer) {
    Status wanted = wantedStatus(model);
    if (answer.status() != wanted) {
      return Optional.of("ended with " + text(answer) + ", expected " + wanted);
    }
    return switch (wanted) {
      case DONE -> shapes(example, answer).or(() -> timing(answer.timing()));
      case OUTPUT_INSUFFICIENT_SIZE -> insufficientShapes(example, answer.outputs());
      case REFUSED, MISSED_DEADLINE, FAILED -> Optional.empty();
    };
  }

  /** A fenced execution must know all outputs; a zero-sized one counts as unknown. */
  private Status wantedStatus(Model model) {
    if (options.mode() == Mode.FENCED
        && model.main().outputIndexes().stream()
            .anyMatch(index -> !model.main().operands().get(index).isSizeKnown())) {
      return Status.REFUSED;
    }
    return options.outputs() == Outputs.INSUFFICIENT
        ? Status.OUTPUT_INSUFFICIENT_SIZE
        : Status.DONE;
  }

  private Optional<String> shapes(DecodedExample example, Answer answer) {
    List<OutputShape> shapes = answer.outputs();
    if (shapes.isEmpty() && options.outputs() == Outputs.FULLY_SPECIFIED) {
      return Optional.empty();
    }
    if (shapes.size() != example.outputs().size()) {
      return Optional.of(shapes.size() + " output shapes for " + example.outputs().size());
    }
    Comparison comparison = new Comparison(example);
    for (int i = 0; i < shapes.size(); i++) {
      if (!shapes.get(i).isSufficient()) {
        return Optional.of("output " + i + " is called insufficient, but all is done");
      }
      Optional<String> wrong = comparison.compareShape(i, shapes.get(i).shape());
      if (wrong.isPresent()) {
        return wrong;
      }
    }
    return Optional.empty();
  }

  /** Only output 0 may be called insufficient, and dimensions that are stated must be right. */
  private static Optional<String> insufficientShapes(
      DecodedExample example, List<OutputShape> shapes) {
    if (shapes.size() != example.outputs().size()) {
      return Optional.of(shapes.size() + " output shapes for " + example.outputs().size());
    }
    for (int i = 0; i < shapes.size(); i++) {
      if (shapes.get(i).isSufficient() != (i != 0)) {
        return Optional.of(
            "output " + i + (i == 0 ? " is not called insufficient" : " is called insufficient"));
      }
      Shape expected = example.outputs().get(i).operand().shape();
      if (!agrees(shapes.get(i).shape(), expected)) {
        return Optional.of(
            "output " + i + " has shape " + shapes.get(i).shape() + ", expected " + expected);
      }
    }
    return Optional.empty();
  }

  private static boolean agrees(Shape reported, Shape expected) {
    if (reported.rank() != expected.rank()) {
      return false;
    }
    for (int axis = 0; axis < reported.rank(); axis++) {
      if (reported.dimension(axis) != 0 && reported.dimension(axis) != expected.dimension(axis)) {
        return false;
      }
    }
    return true;
  }

  private Optional<String> timing(Timing timing) {
    if (!options.measureTiming()) {
      return timing.equals(Timing.NONE)
          ? Optional.empty()
          : Optional.of("timing was not asked for, but there is " + timing);
    }
    if (timing.onDevice().isPresent()
        && timing.inDriver().isPresent()
        && timing.onDevice().get().compareTo(timing.inDriver().get()) > 0) {
      return Optional.of("the time on the device exceeds that in the driver: " + timing);
    }
    return Optional.empty();
  }

  private static Optional<String> compare(DecodedExample example, ExampleMemory memory) {
    Comparison comparison = new Comparison(example);
    for (int i = 0; i < example.outputs().size(); i++) {
      Optional<String> wrong = comparison.compare(i, memory.output(i));
      if (wrong.isPresent()) {
        return wrong;
      }
    }
    return Optional.empty();
  }
}
