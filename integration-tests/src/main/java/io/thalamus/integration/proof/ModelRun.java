// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Answer;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelDirectory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Runs the cases of stored models over all their steps. Not thread-safe. */
public final class ModelRun {
  private static final double MILLION = 1e6;

  /** The name of the custom operator whose outputs are a list of boxes. */
  private static final String DETECTIONS = "CUSTOM:TFLite_Detection_PostProcess";

  private final NeuralNetworks networks;
  private final CompilationOptions options;
  private final Optional<String> twin;
  private final Set<String> ranOn = new TreeSet<>();

  /**
   * Runs on what {@code networks} has, as {@code options} say.
   *
   * @param twin a device that runs everything too, and must give the same bytes where an output is
   *     quantized
   */
  public ModelRun(NeuralNetworks networks, CompilationOptions options, Optional<String> twin) {
    this.networks = networks;
    this.options = options;
    this.twin = twin;
  }

  /**
   * The result of a model.
   *
   * @param refusal why it cannot be loaded or compiled
   * @param cases its cases, where it can
   * @param ranOn ids of the devices that ran it
   */
  public record Result(Optional<String> refusal, List<CaseResult> cases, Set<String> ranOn) {}

  /**
   * The result of a case.
   *
   * @param outputs how far they were off; none for a list of detections
   * @param equal how many outputs of all steps were compared with the twin's and equal
   * @param failures what is not as it must be
   */
  public record CaseResult(
      String name,
      double millisPerStep,
      List<OutputResult> outputs,
      int equal,
      List<String> failures) {}

  /**
   * The largest error of an output, over all steps.
   *
   * @param problem where that is too far, or the output cannot be compared
   */
  public record OutputResult(double largest, double allowed, Optional<String> problem) {}

  /**
   * Runs all cases of a model.
   *
   * @throws IOException where a stored tensor cannot be read
   */
  public Result run(ModelDirectory model) throws IOException {
    ranOn.clear();
    try (LoadedModel file = networks.load(model.model());
        LoadedModel loaded = file.with(file.options().withShapes(shapes(file, model)));
        Compilation compilation = networks.compile(loaded.model(), options)) {
      List<CaseResult> cases = new ArrayList<>();
      try (Compilation other = twin(loaded)) {
        for (ModelCase each : model.cases()) {
          cases.add(run(model, each, compilation, other));
        }
      }
      return new Result(Optional.empty(), cases, Set.copyOf(ranOn));
    } catch (NeuralNetworksException e) {
      return new Result(Optional.of(e.code() + " " + e.getMessage()), List.of(), Set.of());
    }
  }

  /** The dimensions that the cases have, and the file leaves open. */
  private static Map<String, Shape> shapes(LoadedModel file, ModelDirectory model) {
    Map<String, Shape> shapes = new HashMap<>();
    List<ModelCase.Input> inputs = model.cases().getFirst().inputs();
    for (int input : file.file().openInputs().keySet()) {
      Shape stored = inputs.get(input).tensor().shape();
      if (!stored.equals(file.model().main().input(input).shape())) {
        shapes.put(file.model().main().input(input).name(), stored);
      }
    }
    return shapes;
  }

  /** Null where there is none. */
  private Compilation twin(LoadedModel loaded) throws NeuralNetworksException {
    return twin.isEmpty()
        ? null
        : networks.compile(loaded.model(), options.withDevices(List.of(twin.get())));
  }

  private CaseResult run(
      ModelDirectory model, ModelCase one, Compilation compilation, Compilation other)
      throws IOException {
    int equal = 0;
    List<String> failures = new ArrayList<>();
    Worst[] worst = new Worst[one.outputs().size()];
    for (int i = 0; i < worst.length; i++) {
      worst[i] = new Worst(one.outputs().get(i).tolerance());
    }
    boolean detections = model.operations().containsKey(DETECTIONS);
    List<byte[]> outputs = List.of();
    long nanos = 0;
    for (int step = 0; step < one.steps(); step++) {
      List<byte[]> inputs = inputs(one, step, outputs);
      long start = System.nanoTime();
      try {
        Answer answer = execute(compilation, inputs);
        nanos += System.nanoTime() - start;
        answer.report().steps().forEach(each -> ranOn.add(each.device()));
        outputs = bytes(answer);
        if (other != null) {
          equal += compare(one, step, outputs, bytes(execute(other, inputs)), failures);
        }
      } catch (NeuralNetworksException e) {
        failures.add("step " + step + ": " + e.code() + " " + e.getMessage());
        break;
      }
      if (detections) {
        Detections.compare(one, step, outputs).ifPresent(failures::add);
      } else {
        compare(one, step, outputs, worst, failures);
      }
    }
    List<OutputResult> results = new ArrayList<>();
    if (!detections) { // which are matched, not subtracted
      for (Worst each : worst) {
        results.add(
            new OutputResult(each.largest, each.allowed, Optional.ofNullable(each.problem)));
      }
    }
    return new CaseResult(one.name(), nanos / MILLION / one.steps(), results, equal, failures);
  }

  /** Returns the number of quantized outputs that equal the twin's. */
  private int compare(
      ModelCase one, int step, List<byte[]> outputs, List<byte[]> same, List<String> failures) {
    int equal = 0;
    for (int i = 0; i < outputs.size(); i++) {
      Elements type = one.outputs().get(i).tensor().type();
      if (type == Elements.FLOAT32 || type == Elements.FLOAT16) {
        continue;
      }
      int at = Arrays.mismatch(outputs.get(i), same.get(i));
      if (at < 0) {
        equal++;
      } else {
        failures.add(
            "output " + i + " of step " + step + ": byte " + at + " is not as on " + twin.get());
      }
    }
    return equal;
  }

  private static List<byte[]> inputs(ModelCase one, int step, List<byte[]> before)
      throws IOException {
    List<byte[]> inputs = new ArrayList<>();
    for (ModelCase.Input input : one.inputs()) {
      boolean isState = step > 0 && input.stateOf().isPresent();
      inputs.add(isState ? before.get(input.stateOf().getAsInt()) : input.tensor().read(step));
    }
    return inputs;
  }

  private static Answer execute(Compilation compilation, List<byte[]> inputs)
      throws NeuralNetworksException {
    Tensor[] tensors = new Tensor[inputs.size()];
    for (int i = 0; i < tensors.length; i++) {
      tensors[i] = Tensor.of(compilation.model().main().input(i), inputs.get(i));
    }
    return compilation.run(tensors);
  }

  private static List<byte[]> bytes(Answer answer) {
    return answer.outputs().stream().map(Tensor::toBytes).toList();
  }

  private static void compare(
      ModelCase one, int step, List<byte[]> outputs, Worst[] worst, List<String> failures)
      throws IOException {
    for (int i = 0; i < worst.length; i++) {
      ModelCase.Difference difference =
          one.outputs().get(i).compare(step, MemorySegment.ofArray(outputs.get(i)));
      if (difference.problem().isEmpty()
          && !(difference.largest() <= worst[i].largest)) { // NaN is worse than anything
        worst[i].largest = difference.largest();
      }
      if (!difference.isAccepted()) {
        worst[i].problem = difference.text();
        failures.add("output " + i + " of step " + step + ": " + difference.text());
      }
    }
  }

  /** The worst of one output so far. */
  private static final class Worst {
    private final double allowed;
    private double largest;
    private String problem;

    Worst(double allowed) {
      this.allowed = allowed;
    }
  }
}
