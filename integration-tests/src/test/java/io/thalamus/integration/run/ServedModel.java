// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.run.Caller.Question;
import io.thalamus.vectors.ConformanceData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/**
 * A model of one input that a proof serves: a stored one, or the sample where those are not here.
 *
 * @param value the value of its input
 */
record ServedModel(String name, byte[] value) {
  /** Puts a model into a folder that is to be served. */
  static ServedModel put(String stored, Path folder) throws IOException {
    Optional<Path> models = ConformanceData.models().map(each -> each.resolve(stored));
    Files.createDirectories(folder);
    if (models.isEmpty() || !Files.exists(models.get())) {
      Path home = Path.of(System.getProperty("thalamus.home"));
      Files.copy(home.resolve("samples/digits/digits.tflite"), folder.resolve("digits.tflite"));
      return new ServedModel("digits", new byte[MutatedRequests.INPUT_BYTES]);
    }
    Files.copy(models.get().resolve("model.tflite"), folder.resolve(stored + ".tflite"));
    byte[] value = Files.readAllBytes(models.get().resolve("input_rand_0.bin"));
    return new ServedModel(stored, value);
  }

  /** Returns a request for it, from what the server says of the model. */
  Question question(RunningServer server) throws IOException, InterruptedException {
    String metadata = server.get("/v2/models/" + name);
    String tensor = metadata.substring(metadata.indexOf("\"inputs\":[") + 10);
    String shape = tensor.substring(tensor.indexOf("\"shape\":[") + 9, tensor.indexOf(']'));
    return new Question(
        name,
        RunningServer.field(tensor, "name"),
        RunningServer.field(tensor, "datatype"),
        Arrays.stream(shape.split(",")).map(Long::valueOf).toList(),
        value,
        0,
        0);
  }
}
