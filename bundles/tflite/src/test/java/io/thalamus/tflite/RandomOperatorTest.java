// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.ModelFormatException;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.TensorType;

/**
 * Every operator of the schema with inputs, outputs and settings that were drawn by lot: intact
 * files that make little sense. A model may come out, or the one exception.
 */
class RandomOperatorTest {
  private static final int FILES_PER_OPERATOR = 400;

  private static final byte[] TYPES = {
    TensorType.FLOAT32,
    TensorType.FLOAT32,
    TensorType.FLOAT32,
    TensorType.INT8,
    TensorType.INT8,
    TensorType.UINT8,
    TensorType.INT32,
    TensorType.INT32,
    TensorType.INT64,
    TensorType.FLOAT16,
    TensorType.BOOL,
    TensorType.INT16,
    TensorType.STRING
  };

  private final Random random = new Random(20_25);

  @Test
  void everyOperatorWithRandomTensors() {
    System.out.println("random operators with seed 2025");
    TfliteReader reader = new TfliteReader();
    Map<String, Integer> models = new TreeMap<>();
    for (int code = 0; code < BuiltinOperator.names.length; code++) {
      for (int i = 0; i < FILES_PER_OPERATOR; i++) {
        String name = BuiltinOperator.name(code);
        try (SharedMemory memory = TestFiles.memory(file(code))) {
          reader.read(memory);
          models.merge(name, 1, Integer::sum);
        } catch (ModelFormatException e) {
          assertTrue(e.getMessage().lines().count() == 1, e.getMessage());
        } catch (RuntimeException | StackOverflowError e) {
          throw new AssertionError(name + " number " + i + " gave " + e, e);
        }
      }
    }
    System.out.println("files that gave a model: " + models);
    assertTrue(models.size() > 20, models.size() + " operators were converted at least once");
  }

  private byte[] file(int code) {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int rank = random.nextInt(5);
    int[] inputs = new int[code == BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM ? 24 : count()];
    int given = -1;
    for (int i = 0; i < inputs.length; i++) {
      int kind = random.nextInt(8);
      if (i > 0 && kind == 0) {
        inputs[i] = -1;
      } else if (i == 0 && kind > 1 || kind > 5) {
        inputs[i] = tensor(file, "x" + i, rank);
        given = given < 0 ? inputs[i] : given;
      } else {
        inputs[i] = constant(file, "c" + i, rank);
      }
    }
    int[] outputs = new int[random.nextInt(4) > 0 ? 1 : 1 + random.nextInt(3)];
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = tensor(file, "y" + i, random.nextBoolean() ? rank : random.nextInt(5));
    }
    boolean plain = random.nextInt(4) == 0;
    byte type = plain ? BuiltinOptions.NONE : optionsType(code);
    file.operator(code, type, this::options, inputs, outputs);
    int[] given1 = given < 0 ? new int[0] : new int[] {given};
    return file.graph(given1, outputs).build();
  }

  private int count() {
    return 1 + random.nextInt(4);
  }

  private byte type() {
    return TYPES[random.nextInt(TYPES.length)];
  }

  private int[] shape(int rank) {
    int[] shape = new int[rank];
    for (int i = 0; i < rank; i++) {
      int kind = random.nextInt(20);
      shape[i] = kind == 0 ? 0 : kind == 1 ? Integer.MAX_VALUE : 1 + random.nextInt(4);
    }
    return shape;
  }

  private int tensor(TfliteFileBuilder file, String name, int rank) {
    return file.tensor(name, type(), quantized(), shape(rank));
  }

  private TfliteFileBuilder.Quantized quantized() {
    int scales = random.nextInt(6) == 0 ? 1 + random.nextInt(4) : 1;
    float[] values = new float[scales];
    for (int i = 0; i < scales; i++) {
      values[i] = random.nextInt(30) == 0 ? 0 : 1f / (1 << random.nextInt(9));
    }
    long[] zeroPoints = new long[random.nextBoolean() ? scales : 0];
    return new TfliteFileBuilder.Quantized(values, zeroPoints, random.nextInt(4));
  }

  private int constant(TfliteFileBuilder file, String name, int rank) {
    if (random.nextInt(3) == 0) {
      int[] shape = shape(rank);
      for (int i = 0; i < rank; i++) {
        shape[i] = Math.min(shape[i], 4);
      }
      return file.zeros(name, type(), quantized(), shape);
    }
    int[] values = new int[random.nextInt(3) == 0 ? 1 : Math.max(1, rank)];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          switch (random.nextInt(12)) {
            case 0 -> Integer.MIN_VALUE;
            case 1 -> Integer.MAX_VALUE;
            case 2 -> random.nextInt();
            default -> random.nextInt(6) - 1;
          };
    }
    return random.nextInt(3) == 0 ? file.scalar(name, values[0]) : file.ints(name, values);
  }

  /** A table whose fields are small numbers, whatever their type. */
  private int options(FlatBufferBuilder flat) {
    int fields = random.nextInt(10);
    flat.startTable(fields);
    for (int i = 0; i < fields; i++) {
      int value = random.nextInt(10) == 0 ? random.nextInt() : random.nextInt(4);
      flat.addInt(i, value, -1);
    }
    return flat.endTable();
  }

  /** The settings that go with an operator, as far as their names tell. */
  private byte optionsType(int code) {
    String wanted = BuiltinOperator.name(code).replace("_", "") + "OPTIONS";
    for (byte type = 1; type > 0 && type < BuiltinOptions.names.length; type++) {
      if (BuiltinOptions.name(type).equalsIgnoreCase(wanted)) {
        return type;
      }
    }
    return switch (code) {
      case BuiltinOperator.AVERAGE_POOL_2D,
          BuiltinOperator.MAX_POOL_2D,
          BuiltinOperator.L2_POOL_2D ->
          BuiltinOptions.Pool2DOptions;
      case BuiltinOperator.MEAN,
          BuiltinOperator.SUM,
          BuiltinOperator.REDUCE_MAX,
          BuiltinOperator.REDUCE_ANY ->
          BuiltinOptions.ReducerOptions;
      case BuiltinOperator.L2_NORMALIZATION -> BuiltinOptions.L2NormOptions;
      case BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_RNN -> BuiltinOptions.SequenceRNNOptions;
      default -> BuiltinOptions.NONE;
    };
  }
}
