// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Elements;
import io.thalamus.model.Model;
import io.thalamus.model.NanoClock;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.execution.AsyncThreads;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.measurement.StepObservation;
import io.thalamus.runtime.measurement.StepTimes;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * A measurement of the operations of a model on each device: apart, each operation in a step of its
 * own, and together, in steps as large as the device takes them. Not thread-safe; used once.
 *
 * <p>Both are ordinary plans and run as every plan does, so that an operation sees the inputs that
 * it would see in earnest: what it computes on can change how long it takes.
 */
record Calibration(
    Model model,
    Preparer preparer,
    Measurements measurements,
    AsyncThreads asyncThreads,
    Compiler compiler) {
  private static final int FEWEST_RUNS = 3;
  private static final int LARGEST_OUTPUT = 1 << 22;

  /** A smaller gain can be noise. */
  private static final double STEADY = 0.85;

  /**
   * Runs all plans by turns.
   *
   * @return what a reader of the times should know, one sentence each
   */
  List<String> run(Duration patience) throws NeuralNetworksException {
    for (int index : model.main().inputIndexes()) {
      Operand input = model.main().operands().get(index);
      if (!input.isSizeKnown()) {
        throw NeuralNetworksException.badData(
            "input '" + input.name() + "' has open dimensions: its operations cannot be measured");
      }
    }
    List<RegisteredDevice> devices = preparer.devices();
    List<Observed> all = new ArrayList<>();
    try {
      for (RegisteredDevice device : devices) {
        PartitionPolicy policy = new Preferring(device.id());
        all.add(new Observed(preparer.prepareToMeasure(policy, true)));
        all.add(new Observed(preparer.prepareToMeasure(policy, false)));
      }
      observe(all, patience);
      for (int i = 0; i < devices.size(); i++) {
        RegisteredDevice device = devices.get(i);
        measurements.learn(all.get(2 * i).steps(device), all.get(2 * i + 1).steps(device));
      }
      return unsteady(devices, all);
    } finally {
      all.forEach(Observed::close);
    }
  }

  /**
   * Executes whichever plan had the least time so far: all see the same weather, and the last of
   * their executions, which count, come late, when the JVM has compiled what it will.
   */
  private void observe(List<Observed> all, Duration patience) throws NeuralNetworksException {
    List<MemorySegment> inputs = inputs();
    List<MemorySegment> outputs = outputs();
    NanoClock clock = compiler.time();
    long begin = clock.nanoTime();
    long end = begin + patience.toNanos();
    boolean isEnough = false;
    while (!isEnough || clock.nanoTime() - end < 0) {
      if (Thread.currentThread().isInterrupted()) {
        throw new NeuralNetworksException(ResultCode.OP_FAILED, "interrupted while measuring");
      }
      Observed next = isEnough ? leastServed(all) : fewestRuns(all);
      long start = clock.nanoTime();
      execute(next.compilation, inputs, outputs);
      long now = clock.nanoTime();
      next.took(now - start, now - begin > patience.toNanos() / 2);
      isEnough = fewestRuns(all).runs >= FEWEST_RUNS;
    }
  }

  private static Observed leastServed(List<Observed> all) {
    return Collections.min(all, Comparator.comparingLong(observed -> observed.spent));
  }

  private static Observed fewestRuns(List<Observed> all) {
    return Collections.min(all, Comparator.comparingInt(observed -> observed.runs));
  }

  /**
   * Returns a remark for each device that still got faster: the JVM had not compiled all its code.
   */
  private static List<String> unsteady(List<RegisteredDevice> devices, List<Observed> all) {
    List<String> remarks = new ArrayList<>();
    for (int i = 0; i < devices.size(); i++) {
      double gain = Math.min(all.get(2 * i).gain(), all.get(2 * i + 1).gain());
      if (gain < STEADY) {
        remarks.add(
            "%s still got faster, to %.0f %% of what it took in the first half: measure longer"
                .formatted(devices.get(i).id(), 100 * gain));
      }
    }
    return remarks;
  }

  /** A plan while it is observed. */
  private final class Observed implements AutoCloseable {
    private final PreparedPlan plan;
    private final CompilationImpl compilation;
    private long spent;
    private int runs;
    private long bestOfFirstHalf = Long.MAX_VALUE;
    private long bestOfSecondHalf = Long.MAX_VALUE;

    Observed(PreparedPlan plan) {
      this.plan = plan;
      this.compilation =
          new CompilationImpl(
              model,
              // A second opinion would be timed with the step.
              CompilationOptions.DEFAULT.withSampling(0),
              CompilationLabel.PLANNING,
              preparer,
              plan,
              asyncThreads,
              compiler,
              closed -> {});
    }

    void took(long nanos, boolean isSecondHalf) {
      spent += nanos;
      runs++;
      if (isSecondHalf) {
        bestOfSecondHalf = Math.min(bestOfSecondHalf, nanos);
      } else {
        bestOfFirstHalf = Math.min(bestOfFirstHalf, nanos);
      }
    }

    /** The best time of the second half as a share of the first half's; 1 where one has none. */
    double gain() {
      return bestOfFirstHalf == Long.MAX_VALUE || bestOfSecondHalf == Long.MAX_VALUE
          ? 1
          : (double) bestOfSecondHalf / bestOfFirstHalf;
    }

    List<StepObservation> steps(RegisteredDevice device) {
      return Observations.of(plan, StepTimes::measured).stream()
          .filter(step -> step.device() == device.info())
          .toList();
    }

    @Override
    public void close() {
      compilation.close();
    }
  }

  private List<MemorySegment> inputs() {
    Random random = new Random(1);
    return model.main().inputIndexes().stream()
        .map(index -> random(model.main().operands().get(index), random))
        .toList();
  }

  private List<MemorySegment> outputs() {
    List<MemorySegment> outputs = new ArrayList<>();
    for (int index : model.main().outputIndexes()) {
      Operand output = model.main().operands().get(index);
      long bytes = output.isSizeKnown() ? output.byteSize() : LARGEST_OUTPUT;
      outputs.add(MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]));
    }
    return outputs;
  }

  private static void execute(
      CompilationImpl compilation, List<MemorySegment> inputs, List<MemorySegment> outputs)
      throws NeuralNetworksException {
    Execution execution = compilation.createExecution();
    for (int i = 0; i < inputs.size(); i++) {
      execution.setInput(i, inputs.get(i));
    }
    for (int i = 0; i < outputs.size(); i++) {
      execution.setOutput(i, outputs.get(i));
    }
    execution.compute().orThrow();
  }

  /** Values that every operation can take: indexes stay 0, floats are small. */
  private static MemorySegment random(Operand operand, Random random) {
    byte[] bytes = new byte[Math.toIntExact(operand.byteSize())];
    MemorySegment segment = MemorySegment.ofArray(bytes);
    Optional<Elements> elements = Elements.find(operand.type()).filter(Elements::isFloat);
    if (elements.isPresent()) {
      for (int i = 0; i < bytes.length / elements.get().size(); i++) {
        elements.get().setFloat(segment, i, random.nextFloat());
      }
    } else if (operand.type().elementSize() == 1) {
      random.nextBytes(bytes);
      if (operand.type() == OperandCode.TENSOR_BOOL8) {
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] &= 1;
        }
      }
    }
    return segment;
  }

  /** Gives one device all that it supports, and leaves the rest to NNAPI's rules. */
  private record Preferring(String device) implements PartitionPolicy {
    @Override
    public String name() {
      return "all that " + device + " can";
    }

    @Override
    public int[] assign(PartitionProblem problem) {
      int[] choices = new NnapiPolicy().assign(problem);
      for (int candidate = 0; candidate < problem.candidates().size(); candidate++) {
        if (problem.candidates().get(candidate).id().equals(device)) {
          for (int operation = 0; operation < choices.length; operation++) {
            if (!problem.isControlFlow(operation) && problem.supports(candidate, operation)) {
              choices[operation] = candidate;
            }
          }
        }
      }
      return choices;
    }
  }
}
