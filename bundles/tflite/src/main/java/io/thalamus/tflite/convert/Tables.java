// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.HashtableOptions;
import org.tensorflow.lite.schema.TensorType;

/**
 * Hash tables that the graph of CALL_ONCE fills with constants. NNAPI has no texts: within a model
 * each text that a table holds has a number, which goes from one table to the next. One for each
 * model; not thread-safe.
 */
final class Tables {
  private final Map<Integer, Table> tables = new HashMap<>();
  private final Map<String, Integer> texts = new HashMap<>();

  /**
   * The contents of a table.
   *
   * @param placeOfKey counted from 1 on, in ascending order of the keys
   * @param values the file's tensor, in its order
   */
  private record Table(TreeMap<Integer, Integer> placeOfKey, FlatTensor values) {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.HASHTABLE, Tables::handle);
    table.add(BuiltinOperator.HASHTABLE_IMPORT, node -> node.model().tables().fill(node));
    table.add(BuiltinOperator.HASHTABLE_FIND, node -> node.model().tables().find(node));
    table.add(BuiltinOperator.HASHTABLE_SIZE, node -> node.model().tables().size(node));
  }

  private static void handle(Node node) {
    HashtableOptions options = node.options(new HashtableOptions());
    node.alias(0, node.int32Vector(node.get(options::tableId)));
  }

  private Table table(Node node) {
    Table table = node.isKnown(0) ? tables.get(node.onlyInt(0)) : null;
    node.require(table != null, "its table is not filled with constants beforehand");
    return table;
  }

  /** The first to fill a table does, and the first value of a key counts, as in the interpreter. */
  private void fill(Node node) {
    node.require(
        node.isKnown(0) && node.graph().isOfMain() && node.input(2).isConstant(),
        "only an execution tells what its table holds");
    int[] keys = integers(node, node.input(1));
    int count =
        node.input(2).is(TensorType.FLOAT32)
            ? node.constants().elementCount(node.input(2))
            : integers(node, node.input(2)).length;
    node.require(keys.length == count, keys.length + " keys do not fit " + count + " values");
    TreeMap<Integer, Integer> placeOfKey = new TreeMap<>();
    for (int i = 0; i < count; i++) {
      placeOfKey.putIfAbsent(keys[i], i + 1);
    }
    tables.putIfAbsent(node.onlyInt(0), new Table(placeOfKey, node.input(2)));
  }

  /** The place of each key, which is 0 for one that is not there, where the default stands. */
  private void find(Node node) {
    Table table = table(node);
    FlatTensor keys = node.input(1);
    int wanted = keys.isConstant() ? node.int32Vector(integers(node, keys)) : node.in(1);
    Shape shape = keys.isConstant() ? TensorTypes.shape(keys) : node.operand(wanted).shape();
    node.require(
        node.operand(wanted).type() == OperandCode.TENSOR_INT32,
        keys.text() + " is " + keys.typeName());
    int row = shape.rank() == 1 ? wanted : flat(node, wanted, shape);
    TreeMap<Integer, Integer> placeOfKey = new TreeMap<>(table.placeOfKey());
    if (placeOfKey.isEmpty()) {
      placeOfKey.put(0, 0);
    }
    Shape length = node.operand(row).shape();
    int places = node.temporary(OperandCode.TENSOR_INT32, length, Quantization.NONE);
    node.constants().range(2 * placeOfKey.size(), keys);
    node.emit(
        OperationCode.HASHTABLE_LOOKUP,
        List.of(row, vector(node, placeOfKey.keySet()), vector(node, placeOfKey.values())),
        List.of(
            places,
            node.temporary(OperandCode.TENSOR_QUANT8_ASYMM, length, Quantization.of(1, 0))));
    int index = shape.rank() == 1 ? places : Reshape.reshaped(node, places, shape);
    int values = values(node, table.values());
    OperandCode type = (OperandCode) node.operand(values).type();
    node.emit(
        OperationCode.GATHER,
        List.of(values, node.int32(0), index),
        node.out(0, type, shape, Quantization.NONE));
  }

  private static int flat(Node node, int operand, Shape shape) {
    node.require(shape.isFullySpecified(), "its keys of shape " + shape + " are not known to fit");
    return Reshape.reshaped(node, operand, Shape.of(Math.toIntExact(shape.elementCount())));
  }

  private static int vector(Node node, Collection<Integer> numbers) {
    return node.int32Vector(numbers.stream().mapToInt(Integer::intValue).toArray());
  }

  /** The default, and the values behind it. */
  private int values(Node node, FlatTensor values) {
    FlatTensor otherwise = node.input(2);
    node.require(
        otherwise.isConstant() && otherwise.is(values.type()),
        "its default is not a constant of the type of its values");
    if (values.is(TensorType.FLOAT32)) {
      float[] numbers = node.constants().floatValues(values);
      float[] all = node.constants().room(numbers.length + 1L, values);
      all[0] = node.constants().floatValues(otherwise)[0];
      System.arraycopy(numbers, 0, all, 1, numbers.length);
      return node.float32Tensor(Shape.of(all.length), node.constants().of(all, values));
    }
    return node.int32Vector(
        IntStream.concat(
                IntStream.of(integers(node, otherwise)).limit(1),
                IntStream.of(integers(node, values)))
            .toArray());
  }

  private void size(Node node) {
    node.alias(0, node.int32Vector(table(node).placeOfKey().size()));
  }

  /** The integers of a constant, or the numbers of its texts. */
  private int[] integers(Node node, FlatTensor tensor) {
    if (!tensor.is(TensorType.STRING)) {
      node.require(tensor.isConstant(), tensor.text() + " is not constant");
      node.constants().range(node.constants().elementCount(tensor), tensor);
      return node.constants().ints(tensor);
    }
    byte[] bytes = node.constants().copy(tensor.data());
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    try {
      int count = in.getInt();
      node.require(
          count >= 0 && count < bytes.length / Integer.BYTES,
          "the file is damaged: " + tensor.text() + " has " + count + " texts");
      int[] numbers = node.constants().range(count, tensor);
      int end = in.getInt();
      for (int i = 0; i < count; i++) {
        int start = end;
        end = in.getInt();
        node.require(
            start >= 0 && start <= end && end <= bytes.length,
            "the file is damaged: text %d of %s is at %d".formatted(i, tensor.text(), start));
        String text = new String(bytes, start, end - start, StandardCharsets.ISO_8859_1);
        numbers[i] = texts.computeIfAbsent(text, key -> texts.size());
      }
      return numbers;
    } catch (BufferUnderflowException e) {
      throw new Refusal("the file is damaged: " + tensor.text() + " has no texts", e);
    }
  }
}
