// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.OnnxFileReader;
import io.thalamus.onnx.file.OnnxTensor;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.onnx.fold.Tensors;
import io.thalamus.tck.check.TestGraph;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** ONNX's own tests of single operators, run on the reference device. */
final class NodeTests {
  /** The rule of ONNX's own test runner. */
  private static final double RELATIVE = 1e-3;

  private static final double ABSOLUTE = 1e-7;
  private static final double HALF_RELATIVE = 2e-3;
  private static final double HALF_ABSOLUTE = 1e-3;

  private final Path root;
  private final CpuDevice device = new CpuDevice("1.0.0");
  private final OnnxReader reader = new OnnxReader();

  NodeTests(Path root) {
    this.root = root;
  }

  /** One line of the index. */
  record Row(String group, String name, String operators, String category) {}

  /** The outcome of a test. */
  enum Verdict {
    PASSED,
    REFUSED,
    WRONG
  }

  /** A verdict and its reason. */
  record Result(Row row, Verdict verdict, String reason) {}

  List<Row> rows() throws IOException {
    List<Row> rows = new ArrayList<>();
    List<String> lines = Files.readAllLines(root.resolve("INDEX.tsv"));
    for (String line : lines.subList(1, lines.size())) {
      String[] fields = line.split("\t");
      rows.add(new Row(fields[0], fields[1], fields[3], fields[4]));
    }
    return rows;
  }

  Result run(Row row) throws Exception {
    Path folder = root.resolve(row.group()).resolve(row.name());
    try (SharedMemory file = SharedMemory.map(folder.resolve("model.onnx"))) {
      Model model;
      try {
        model = reader.read(file).model();
      } catch (ModelFormatException e) {
        return new Result(row, Verdict.REFUSED, e.getMessage());
      }
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
        String difference = difference(prepared, model, folder.resolve("test_data_set_0"));
        return new Result(row, difference.isEmpty() ? Verdict.PASSED : Verdict.WRONG, difference);
      }
    } catch (Exception | AssertionError e) {
      return new Result(row, Verdict.WRONG, e.toString());
    }
  }

  private String difference(PreparedModel prepared, Model model, Path data) throws Exception {
    int count = model.main().inputIndexes().size();
    byte[][] inputs = new byte[count][];
    for (int i = 0, file = 0; i < count; file++) {
      Tensor tensor = tensor(data.resolve("input_" + file + ".pb"));
      if (tensor.count() > 0) {
        inputs[i] = bytes(tensor, model.main().input(i));
        i++;
      }
    }
    List<byte[]> outputs = TestGraph.run(prepared, model.main(), inputs);
    for (int i = 0; i < outputs.size(); i++) {
      Path file = data.resolve("output_" + i + ".pb");
      String difference = difference(tensor(file), outputs.get(i), model.main().output(i));
      if (!difference.isEmpty()) {
        return "output " + i + ": " + difference;
      }
    }
    return "";
  }

  private static Tensor tensor(Path file) throws IOException, ModelFormatException {
    MemorySegment bytes = MemorySegment.ofArray(Files.readAllBytes(file));
    OnnxTensor tensor = OnnxFileReader.readTensor(bytes);
    return Tensors.of(tensor, new Budget(bytes.byteSize()));
  }

  private static byte[] bytes(Tensor tensor, Operand operand) {
    Elements elements = Elements.of(operand.type());
    byte[] bytes = new byte[tensor.count() * elements.size()];
    MemorySegment target = MemorySegment.ofArray(bytes);
    for (int i = 0; i < tensor.count(); i++) {
      elements.setDouble(target, i, tensor.number(i));
    }
    return bytes;
  }

  private static String difference(Tensor expected, byte[] actual, Operand operand) {
    int[] shape = expected.shape().length == 0 ? new int[] {1} : expected.shape();
    boolean isShape =
        operand.isSizeKnown()
            ? operand.shape().equals(Shape.of(shape))
            : operand.shape().rank() == shape.length
                && actual.length == expected.count() * operand.type().elementSize();
    if (!isShape) {
      return "shape " + operand.shape() + " instead of " + Shape.of(shape);
    }
    if (!operand.type().equals(expected.type().argument().orElse(null))) {
      return "type " + operand.type() + " instead of " + expected.type();
    }
    Elements elements = Elements.of(operand.type());
    MemorySegment values = MemorySegment.ofArray(actual);
    boolean isHalf = elements == Elements.FLOAT16;
    boolean isReal = elements.isFloat();
    for (int i = 0; i < expected.count(); i++) {
      double e = expected.number(i);
      double a = elements.getDouble(values, i);
      double allowed =
          !isReal
              ? 0
              : isHalf
                  ? HALF_ABSOLUTE + HALF_RELATIVE * Math.abs(e)
                  : ABSOLUTE + RELATIVE * Math.abs(e);
      boolean isSame = a == e || Double.isNaN(a) && Double.isNaN(e) || Math.abs(a - e) <= allowed;
      if (!isSame || Double.isInfinite(e) && a != e) {
        return "element " + i + " is " + a + " instead of " + e;
      }
    }
    return "";
  }
}
