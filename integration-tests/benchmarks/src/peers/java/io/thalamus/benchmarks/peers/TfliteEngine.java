// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.peers;

import io.thalamus.benchmarks.engine.Engine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.tensorflowlite.BuiltinOpResolverWithXNNPACK;
import org.bytedeco.tensorflowlite.FlatBufferModel;
import org.bytedeco.tensorflowlite.Interpreter;
import org.bytedeco.tensorflowlite.InterpreterBuilder;
import org.bytedeco.tensorflowlite.TfLiteTensor;
import org.bytedeco.tensorflowlite.global.tensorflowlite;

/** TensorFlow Lite with its XNNPACK delegate, through JavaCPP's binding of its C++ interface. */
public final class TfliteEngine implements Engine {
  @Override
  public String name() {
    return "xnnpack";
  }

  @Override
  public String format() {
    return "tflite";
  }

  @Override
  public Host start(int threads) {
    return (file, inputs, priority) -> open(file, inputs, threads);
  }

  private static Session open(Path file, List<byte[]> inputs, int threads) {
    FlatBufferModel model = FlatBufferModel.BuildFromFile(file.toString());
    BuiltinOpResolverWithXNNPACK resolver = new BuiltinOpResolverWithXNNPACK(true);
    Interpreter interpreter = new Interpreter((Pointer) null); // the builder makes it
    try (InterpreterBuilder builder = new InterpreterBuilder(model, resolver)) {
      check(builder.SetNumThreads(threads), "taking the number of threads");
      check(builder.apply(interpreter), "reading the model");
    }
    check(interpreter.AllocateTensors(), "allocating the tensors");
    for (int i = 0; i < inputs.size(); i++) {
      TfLiteTensor tensor = interpreter.input_tensor(i);
      tensor.data().raw().put(inputs.get(i));
    }
    return new Running(model, resolver, interpreter);
  }

  private static void check(int status, String what) {
    if (status != tensorflowlite.kTfLiteOk) {
      throw new IllegalStateException("TensorFlow Lite failed at " + what + ": " + status);
    }
  }

  private record Running(
      FlatBufferModel model, BuiltinOpResolverWithXNNPACK resolver, Interpreter interpreter)
      implements Session {
    @Override
    public void run() {
      check(interpreter.Invoke(), "running the model");
    }

    @Override
    public List<byte[]> outputs() {
      List<byte[]> outputs = new ArrayList<>();
      for (int i = 0; i < interpreter.outputs().limit(); i++) {
        TfLiteTensor tensor = interpreter.output_tensor(i);
        byte[] bytes = new byte[Math.toIntExact(tensor.bytes())];
        tensor.data().raw().get(bytes);
        outputs.add(bytes);
      }
      return outputs;
    }

    @Override
    public String note() {
      return "TensorFlow Lite "
          + tensorflowlite.TfLiteVersion().getString()
          + ", "
          + interpreter.execution_plan().limit()
          + " nodes left";
    }

    @Override
    public void close() {
      interpreter.close();
      resolver.close();
      model.close();
    }
  }
}
