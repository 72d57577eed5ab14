// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import io.thalamus.benchmarks.network.Network;
import io.thalamus.benchmarks.network.OnnxFile;
import io.thalamus.benchmarks.network.TfliteFile;
import io.thalamus.benchmarks.network.Zoo;
import io.thalamus.model.Elements;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelDirectory;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * A model to be compared over. Immutable; the files stay where they are for the next time.
 *
 * @param files by format
 * @param inputs that go with each file
 * @param outputs their types
 * @param difference the largest of outputs that agree, as a share of the largest value
 */
record Subject(
    String name,
    Map<String, Path> files,
    Map<String, List<Path>> inputs,
    List<Elements> outputs,
    double difference) {
  /** Two engines that compute the same in another order differ by less. */
  private static final double FLOAT_DIFFERENCE = 1e-3;

  /**
   * Engines round in other ways, which takes logits apart by some steps, 0.03; and where processors
   * have no VNNI, ONNX Runtime's sums of products of bytes saturate, which made 0.17 of it.
   */
  private static final double QUANTIZED_DIFFERENCE = 0.25;

  private static final long SEED = 7;

  @FunctionalInterface
  private interface Writer {
    void write(Path file) throws IOException;
  }

  /**
   * A network of {@link Zoo}, or a model of the shared folder.
   *
   * @param folder where files that have to be written go
   * @throws IllegalArgumentException where there is no model of this name
   */
  static Subject of(String name, Path folder) throws IOException, VectorFormatException {
    Files.createDirectories(folder);
    if (Zoo.names().contains(name)) {
      return generated(Zoo.network(name), folder);
    }
    Optional<Path> stored = ConformanceData.models().map(models -> models.resolve(name));
    if (stored.isEmpty() || !Files.isRegularFile(stored.get().resolve("meta.json"))) {
      throw new IllegalArgumentException(
          "no model " + name + ": neither one of " + Zoo.names() + " nor a shared one");
    }
    return stored(ModelDirectory.read(stored.get()), folder);
  }

  /** The names of all TensorFlow Lite models of the shared folder; empty where there is none. */
  static List<String> stored() throws IOException {
    Optional<Path> folder = ConformanceData.models();
    if (folder.isEmpty()) {
      return List.of();
    }
    try (Stream<Path> models = Files.list(folder.get())) {
      return models
          .filter(model -> Files.isRegularFile(model.resolve("meta.json")))
          .filter(model -> Files.isRegularFile(model.resolve("model.tflite")))
          .map(model -> model.getFileName().toString())
          .sorted()
          .toList();
    }
  }

  private static Subject generated(Network network, Path folder) throws IOException {
    Network.Size size = network.input();
    float[] values = new float[size.elements()];
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) random.nextDouble(-1, 1);
    }
    float[] planes = size.form() == Network.Form.PICTURE ? planes(values, size) : values;
    String name = network.name();
    return new Subject(
        name,
        Map.of(
            "tflite",
            once(folder.resolve(name + ".tflite"), file -> TfliteFile.write(network, file)),
            "onnx",
            once(folder.resolve(name + ".onnx"), file -> OnnxFile.write(network, file))),
        Map.of(
            "tflite",
            List.of(once(folder.resolve(name + ".nhwc.bin"), file -> write(file, values))),
            "onnx",
            List.of(once(folder.resolve(name + ".nchw.bin"), file -> write(file, planes)))),
        List.of(Elements.FLOAT32),
        network.isQuantized() ? QUANTIZED_DIFFERENCE : FLOAT_DIFFERENCE);
  }

  /** The channels of a picture as planes. */
  private static float[] planes(float[] values, Network.Size size) {
    int places = size.height() * size.width();
    float[] planes = new float[values.length];
    for (int i = 0; i < places; i++) {
      for (int c = 0; c < size.channels(); c++) {
        planes[c * places + i] = values[i * size.channels() + c];
      }
    }
    return planes;
  }

  private static Subject stored(ModelDirectory model, Path folder) throws IOException {
    ModelCase first = model.cases().getFirst();
    List<Path> inputs = new ArrayList<>();
    for (int i = 0; i < first.inputs().size(); i++) {
      byte[] bytes = first.inputs().get(i).tensor().read(0);
      inputs.add(
          once(folder.resolve(model.name() + "." + i + ".bin"), file -> Files.write(file, bytes)));
    }
    List<Elements> outputs =
        first.outputs().stream().map(output -> output.tensor().type()).toList();
    // A network that takes bytes computes in them, whatever it gives.
    boolean isFloat =
        Stream.concat(outputs.stream(), first.inputs().stream().map(input -> input.tensor().type()))
            .allMatch(type -> type == Elements.FLOAT32 || type == Elements.FLOAT16);
    return new Subject(
        model.name(),
        Map.of(model.format(), model.model()),
        Map.of(model.format(), inputs),
        outputs,
        isFloat ? FLOAT_DIFFERENCE : Double.POSITIVE_INFINITY);
  }

  private static void write(Path file, float[] values) throws IOException {
    ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    Files.write(file, bytes.array());
  }

  /** A file that is written only where it is missing, and appears as a whole. */
  private static Path once(Path file, Writer writer) throws IOException {
    if (!Files.exists(file)) {
      Path part = file.resolveSibling(file.getFileName() + ".part");
      Files.deleteIfExists(part);
      writer.write(part);
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    }
    return file;
  }
}
