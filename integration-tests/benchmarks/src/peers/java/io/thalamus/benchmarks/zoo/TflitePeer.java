// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.tensorflowlite.BuiltinOpResolver;
import org.bytedeco.tensorflowlite.BuiltinOpResolverWithXNNPACK;
import org.bytedeco.tensorflowlite.BuiltinOpResolverWithoutDefaultDelegates;
import org.bytedeco.tensorflowlite.FlatBufferModel;
import org.bytedeco.tensorflowlite.Interpreter;
import org.bytedeco.tensorflowlite.InterpreterBuilder;
import org.bytedeco.tensorflowlite.TfLiteTensor;
import org.bytedeco.tensorflowlite.global.tensorflowlite;

/**
 * TensorFlow Lite.
 *
 * @param isDelegated whether its XNNPACK delegate computes what it can, or its own kernels all
 */
record TflitePeer(boolean isDelegated) implements Peer {
  @Override
  public String name() {
    return isDelegated ? "xnnpack" : "tflite";
  }

  @Override
  public Loaded load(Path file, List<Input> inputs) {
    FlatBufferModel model = FlatBufferModel.BuildFromFile(file.toString());
    require(model != null && !model.isNull(), "it does not take the file");
    BuiltinOpResolver resolver =
        isDelegated
            ? new BuiltinOpResolverWithXNNPACK(true)
            : new BuiltinOpResolverWithoutDefaultDelegates();
    Interpreter interpreter = new Interpreter((Pointer) null); // the builder makes it
    try (InterpreterBuilder builder = new InterpreterBuilder(model, resolver)) {
      check(builder.SetNumThreads(1), "taking the number of threads");
      check(builder.apply(interpreter), "reading the model");
    }
    for (int i = 0; i < inputs.size(); i++) {
      int[] wanted = inputs.get(i).shape().toArray();
      if (!Arrays.equals(wanted, shape(interpreter.input_tensor(i)).toArray())) {
        check(
            interpreter.ResizeInputTensor(interpreter.inputs().get(i), wanted),
            "resizing an input");
      }
    }
    check(interpreter.AllocateTensors(), "allocating the tensors");
    return new Running(model, resolver, interpreter);
  }

  private static void check(int status, String what) {
    require(status == tensorflowlite.kTfLiteOk, "it failed at " + what);
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalStateException(message);
    }
  }

  private static Shape shape(TfLiteTensor tensor) {
    int[] shape = new int[tensor.dims().size()];
    for (int i = 0; i < shape.length; i++) {
      shape[i] = tensor.dims().data(i);
    }
    return Shape.of(shape);
  }

  private static Elements elements(TfLiteTensor tensor) {
    int type = tensor.type();
    if (type == tensorflowlite.kTfLiteFloat32) {
      return Elements.FLOAT32;
    } else if (type == tensorflowlite.kTfLiteFloat16) {
      return Elements.FLOAT16;
    } else if (type == tensorflowlite.kTfLiteFloat64) {
      return Elements.FLOAT64;
    } else if (type == tensorflowlite.kTfLiteInt8) {
      return Elements.INT8;
    } else if (type == tensorflowlite.kTfLiteUInt8) {
      return Elements.UINT8;
    } else if (type == tensorflowlite.kTfLiteInt16) {
      return Elements.INT16;
    } else if (type == tensorflowlite.kTfLiteInt32) {
      return Elements.INT32;
    } else if (type == tensorflowlite.kTfLiteInt64) {
      return Elements.INT64;
    } else if (type == tensorflowlite.kTfLiteBool) {
      return Elements.BOOL8;
    }
    throw new IllegalArgumentException("elements of type " + type);
  }

  private record Running(FlatBufferModel model, BuiltinOpResolver resolver, Interpreter interpreter)
      implements Loaded {
    @Override
    public List<Value> run(List<double[]> numbers) {
      for (int i = 0; i < numbers.size(); i++) {
        TfLiteTensor tensor = interpreter.input_tensor(i);
        byte[] bytes = Value.of(elements(tensor), shape(tensor), numbers.get(i)).bytes();
        if (bytes.length > 0) {
          tensor.data().raw().put(bytes);
        }
      }
      check(interpreter.Invoke(), "running the model");
      List<Value> outputs = new ArrayList<>();
      for (int i = 0; i < interpreter.outputs().limit(); i++) {
        TfLiteTensor tensor = interpreter.output_tensor(i);
        byte[] bytes = new byte[Math.toIntExact(tensor.bytes())];
        BytePointer data = tensor.data().raw();
        if (bytes.length > 0) {
          data.get(bytes);
        }
        outputs.add(new Value(elements(tensor), shape(tensor), bytes, tensor.params().scale()));
      }
      return outputs;
    }

    @Override
    public long again() {
      long start = System.nanoTime();
      check(interpreter.Invoke(), "running the model");
      return System.nanoTime() - start;
    }

    @Override
    public void close() {
      interpreter.close();
      resolver.close();
      model.close();
    }
  }
}
