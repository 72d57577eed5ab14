// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelDirectory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.osgi.framework.BundleContext;

/** The models that proofs of devices which come and go are made with. Stateless. */
final class Workloads {
  /** Quantized, so that every device must give the same bytes. */
  static final String USUAL = "kws_dscnn_int8,ad01_autoencoder_int8,resnet8_cifar_int8";

  private Workloads() {}

  /** Stored models with their inputs; the sample's digits where the stored ones are not here. */
  static List<Workload> of(
      NeuralNetworks networks, BundleContext context, String names, String folder, Figures figures)
      throws Exception {
    List<Workload> workloads = new ArrayList<>();
    if (folder.isEmpty()) {
      Path home = Path.of(context.getProperty("thalamus.home"));
      figures.figure("models", "digits, since there is no folder shared/models");
      workloads.add(
          new Workload(networks, home.resolve("samples/digits/digits.tflite"), List.of()));
      return workloads;
    }
    figures.figure("models", names);
    for (String name : names.split(",")) {
      ModelDirectory model = ModelDirectory.read(Path.of(folder).resolve(name));
      List<List<byte[]>> inputs = new ArrayList<>();
      for (ModelCase each : model.cases()) {
        inputs.add(inputs(each));
      }
      workloads.add(new Workload(networks, model.model(), inputs));
    }
    return workloads;
  }

  private static List<byte[]> inputs(ModelCase one) throws IOException {
    List<byte[]> inputs = new ArrayList<>();
    for (ModelCase.Input input : one.inputs()) {
      inputs.add(input.tensor().read(0));
    }
    return inputs;
  }
}
