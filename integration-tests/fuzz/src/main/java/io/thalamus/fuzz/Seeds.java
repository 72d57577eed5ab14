// SPDX-License-Identifier: Apache-2.0
package io.thalamus.fuzz;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.json.JsonModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.onnx.OnnxReader;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * Files that fuzzing begins with: small models where these are at hand, the sample, and for
 * TensorFlow Lite a model of each operator. Stateless.
 */
final class Seeds {
  /** Larger ones are slow to change in a place that matters. */
  static final int MAX_SIZE = 1 << 16;

  private static final String VERSION = "TFL3";

  private Seeds() {}

  /** Writes the seeds of a format into a folder. */
  static void write(String format, Path root, Path folder) throws IOException {
    Files.createDirectories(folder);
    int number = 0;
    for (byte[] seed : format.equals("json") ? texts(root, folder) : files(format, root)) {
      Files.write(folder.resolve("seed-" + number++), seed);
    }
  }

  private static List<byte[]> files(String format, Path root) throws IOException {
    List<byte[]> seeds = new ArrayList<>();
    List<Path> places = new ArrayList<>();
    places.add(root.resolve("launcher/samples"));
    ConformanceData.root().map(data -> data.resolve("onnx-node-tests")).ifPresent(places::add);
    ConformanceData.models().ifPresent(places::add);
    for (Path place : places) {
      try (Stream<Path> found = Files.isDirectory(place) ? Files.walk(place) : Stream.empty()) {
        for (Path file : found.filter(name -> name.toString().endsWith("." + format)).toList()) {
          if (Files.size(file) <= MAX_SIZE) {
            seeds.add(Files.readAllBytes(file));
          }
        }
      }
    }
    if (format.equals("tflite")) {
      for (int code = 0; code < BuiltinOperator.names.length; code++) {
        for (int inputs = 1; inputs <= 3; inputs++) {
          seeds.add(operator(code, inputs));
        }
      }
    }
    return seeds;
  }

  /** A model of one operator over floats, with its usual options. */
  private static byte[] operator(int code, int inputs) {
    FlatBufferBuilder flat = new FlatBufferBuilder(1024);
    Buffer.startBuffer(flat);
    int empty = Buffer.endBuffer(flat);
    int constant =
        Buffer.createBuffer(flat, Buffer.createDataVector(flat, new byte[] {1, 0, 0, 0}));
    int buffers = Model.createBuffersVector(flat, new int[] {empty, constant});
    int[] tensors = new int[inputs + 1];
    int[] read = new int[inputs];
    for (int i = 0; i < tensors.length; i++) {
      int shape = Tensor.createShapeVector(flat, i == 2 ? new int[] {1} : new int[] {1, 4, 4, 2});
      int name = flat.createString("t" + i);
      Tensor.startTensor(flat);
      Tensor.addShape(flat, shape);
      Tensor.addType(flat, i == 2 ? TensorType.INT32 : TensorType.FLOAT32);
      Tensor.addBuffer(flat, i == 2 ? 1 : 0);
      Tensor.addName(flat, name);
      tensors[i] = Tensor.endTensor(flat);
      if (i < inputs) {
        read[i] = i;
      }
    }
    int ins = Operator.createInputsVector(flat, read);
    int outs = Operator.createOutputsVector(flat, new int[] {inputs});
    Operator.startOperator(flat);
    Operator.addInputs(flat, ins);
    Operator.addOutputs(flat, outs);
    int operator = Operator.endOperator(flat);
    int allTensors = SubGraph.createTensorsVector(flat, tensors);
    int graphIns = SubGraph.createInputsVector(flat, inputs > 1 ? new int[] {0, 1} : read);
    int graphOuts = SubGraph.createOutputsVector(flat, new int[] {inputs});
    int operators = SubGraph.createOperatorsVector(flat, new int[] {operator});
    SubGraph.startSubGraph(flat);
    SubGraph.addTensors(flat, allTensors);
    SubGraph.addInputs(flat, graphIns);
    SubGraph.addOutputs(flat, graphOuts);
    SubGraph.addOperators(flat, operators);
    int graphs = Model.createSubgraphsVector(flat, new int[] {SubGraph.endSubGraph(flat)});
    OperatorCode.startOperatorCode(flat);
    OperatorCode.addDeprecatedBuiltinCode(flat, (byte) Math.min(code, 127));
    OperatorCode.addBuiltinCode(flat, code);
    OperatorCode.addVersion(flat, 1);
    int codes =
        Model.createOperatorCodesVector(flat, new int[] {OperatorCode.endOperatorCode(flat)});
    Model.startModel(flat);
    Model.addVersion(flat, 3);
    Model.addOperatorCodes(flat, codes);
    Model.addSubgraphs(flat, graphs);
    Model.addBuffers(flat, buffers);
    flat.finish(Model.endModel(flat), VERSION);
    return flat.sizedByteArray();
  }

  /** Reads the seeds of other formats, with zeros for the file beside each. */
  private static List<byte[]> texts(Path root, Path folder) throws IOException {
    List<byte[]> texts = new ArrayList<>();
    Path text = folder.resolve("model.json");
    String zeros = HexFormat.of().formatHex(Digests.sha256(Target.BESIDE.segment()));
    for (String format : List.of("onnx", "tflite")) {
      ModelReader reader = format.equals("onnx") ? new OnnxReader() : new TfliteReader();
      for (byte[] bytes : files(format, root)) {
        Path file = Files.write(folder.resolve("model"), bytes);
        try (SharedMemory memory = SharedMemory.map(file)) {
          JsonModel.write(reader.read(memory), text);
          String written =
              Files.readString(text)
                  .replaceFirst("\"size\": \\d+", "\"size\": " + Target.BESIDE.size())
                  .replaceFirst("\"sha256\": \"\\w+\"", "\"sha256\": \"" + zeros + "\"");
          if (written.length() <= MAX_SIZE) {
            texts.add(written.getBytes(StandardCharsets.UTF_8));
          }
        } catch (ModelFormatException e) {
          // Not all seeds are models: fuzzing begins with those that are not, too.
          continue;
        }
        Files.deleteIfExists(JsonModel.constants(text));
        Files.deleteIfExists(text);
        Files.delete(file);
      }
    }
    Files.deleteIfExists(folder.resolve("model"));
    return texts;
  }

  /** Words that a fuzzer would take long to find, in the form of libFuzzer's dictionaries. */
  static Optional<String> dictionary(String format) {
    if (!format.equals("json")) {
      return Optional.empty();
    }
    Stream<String> names =
        Stream.of(
            "extension",
            "code",
            "tensor",
            "elementSize",
            "bytes",
            "graph",
            "scales",
            "relaxed",
            "channelDimension",
            "normalizations",
            "labels",
            "NO_VALUE",
            "NaN",
            "Infinity");
    Stream<String> types =
        Stream.concat(
            Arrays.stream(OperandCode.values()).map(OperandCode::text),
            Arrays.stream(OperationCode.values()).map(OperationCode::text));
    return Optional.of(
        Stream.concat(names, types)
            .map(word -> "\"\\\"" + word + "\\\"\"")
            .collect(Collectors.joining("\n", "", "\n")));
  }
}
