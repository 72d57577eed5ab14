// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelDirectory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Trained public models against the outputs of independent engines, through the entrance that
 * applications use. A model that is refused is listed with the reason and is no failure, unless it
 * is required.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=models")
public final class ModelsProof extends FrameworkProof {
  private final NeuralNetworks networks;

  @Activate
  public ModelsProof(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    Optional<Path> shared = ConformanceData.models();
    String folder = settings.text("dir", shared.map(Path::toString).orElse(""));
    Set<String> devices = words(settings.text("device", ""));
    String twin = settings.text("equal-to", "");
    Set<String> wanted = words(settings.text("models", ""));
    Set<String> required = words(settings.text("required", ""));
    settings.end();
    if (folder.isEmpty()) {
      figures.figure("skipped", "there is no folder shared/models; name one with --dir");
      return;
    }
    figures.figure("dir", folder);
    CompilationOptions options = CompilationOptions.DEFAULT.withDevices(List.copyOf(devices));
    Totals totals = new Totals();
    for (ModelDirectory model : ModelDirectory.readAll(Path.of(folder))) {
      if (wanted.isEmpty() || wanted.contains(model.name())) {
        ModelRun.Result result =
            new ModelRun(networks, options, Optional.of(twin).filter(name -> !name.isEmpty()))
                .run(model);
        tell(model, result, figures);
        totals.add(model, result);
      }
    }
    totals.tell(figures);
    Set<String> missing = new TreeSet<>(required);
    missing.removeAll(totals.passed);
    figures.promise("these must pass and do not: " + missing, missing.isEmpty());
  }

  private static Set<String> words(String list) {
    return list.isEmpty() ? Set.of() : new TreeSet<>(List.of(list.split(",")));
  }

  private static void tell(ModelDirectory model, ModelRun.Result result, Figures figures) {
    String name = model.name();
    if (result.refusal().isPresent()) {
      figures.figure(name + ".refused", result.refusal().get());
      return;
    }
    figures.figure(name + ".cases", result.cases().size());
    figures.figure(name + ".ranOn", String.join(", ", result.ranOn()));
    for (ModelRun.CaseResult one : result.cases()) {
      String key = name + "." + one.name();
      figures.decimal(key + ".millisPerStep", one.millisPerStep());
      for (int i = 0; i < one.outputs().size(); i++) {
        ModelRun.OutputResult output = one.outputs().get(i);
        String kept = output.problem().isEmpty() ? "" : " BUT " + output.problem().get();
        figures.figure(
            key + ".output" + i,
            "off by " + (float) output.largest() + ", allowed " + (float) output.allowed() + kept);
      }
      for (String failure : one.failures()) {
        figures.promise(key + ": " + failure, false);
      }
    }
  }

  /** Counts over all models. */
  private static final class Totals {
    private final Set<String> passed = new TreeSet<>();
    private final List<String> failed = new ArrayList<>();
    private final List<String> refused = new ArrayList<>();
    private int cases;
    private int steps;
    private int equal;

    void add(ModelDirectory model, ModelRun.Result result) {
      if (result.refusal().isPresent()) {
        refused.add(model.name());
        return;
      }
      cases += result.cases().size();
      steps += model.cases().stream().mapToInt(each -> each.steps()).sum();
      equal += result.cases().stream().mapToInt(ModelRun.CaseResult::equal).sum();
      boolean good = result.cases().stream().allMatch(each -> each.failures().isEmpty());
      (good ? passed : failed).add(model.name());
    }

    void tell(Figures figures) {
      figures.figure("passed", String.join(", ", passed));
      figures.figure("failed", String.join(", ", failed));
      figures.figure("refused", String.join(", ", refused));
      figures.figure("modelsPassed", passed.size());
      figures.figure("modelsFailed", failed.size());
      figures.figure("modelsRefused", refused.size());
      figures.figure("cases", cases);
      figures.figure("steps", steps);
      figures.figure("equalQuantizedOutputs", equal);
    }
  }
}
