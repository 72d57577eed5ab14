// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.vectors.RawOperand.ChannelQuant;
import io.thalamus.vectors.RawOperand.Dims;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Turns a model and its data into the raw form, the way back of {@link ExampleDecoder}. */
final class ExampleEncoder {
  private ExampleEncoder() {}

  static Example encode(
      String name, Model model, List<MemorySegment> inputs, List<Example.Result> outputs)
      throws VectorFormatException {
    Subgraph main = withShapes(model.main(), outputs);
    List<RawSubgraph> referenced = new ArrayList<>();
    for (Subgraph graph : model.referenced()) {
      referenced.add(subgraph(graph));
    }
    return new Example(
        name,
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        model.relaxComputationFloat32toFloat16(),
        false,
        0,
        subgraph(main),
        referenced,
        inputs(main, inputs),
        outputs(main, outputs));
  }

  /** The outputs of an example have the shapes that are expected of them. */
  private static Subgraph withShapes(Subgraph main, List<Example.Result> outputs) {
    if (outputs.size() != main.outputIndexes().size()) {
      throw new IllegalArgumentException(
          outputs.size() + " results for " + main.outputIndexes().size() + " outputs");
    }
    List<Operand> operands = new ArrayList<>(main.operands());
    for (int i = 0; i < outputs.size(); i++) {
      int index = main.outputIndexes().get(i);
      operands.set(index, operands.get(index).with(outputs.get(i).shape()));
    }
    return new Subgraph(operands, main.operations(), main.inputIndexes(), main.outputIndexes());
  }

  private static List<Example.Input> inputs(Subgraph main, List<MemorySegment> inputs)
      throws VectorFormatException {
    if (inputs.size() != main.inputIndexes().size()) {
      throw new IllegalArgumentException(
          inputs.size() + " values for " + main.inputIndexes().size() + " inputs");
    }
    List<Example.Input> encoded = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      encoded.add(
          new Example.Input(
              main.inputIndexes().get(i),
              ElementCodec.decode(main.input(i).type(), inputs.get(i))));
    }
    return encoded;
  }

  private static List<Example.ExpectedOutput> outputs(Subgraph main, List<Example.Result> outputs)
      throws VectorFormatException {
    List<Example.ExpectedOutput> encoded = new ArrayList<>();
    for (int i = 0; i < outputs.size(); i++) {
      encoded.add(
          new Example.ExpectedOutput(
              main.outputIndexes().get(i),
              false,
              ElementCodec.decode(main.output(i).type(), outputs.get(i).bytes())));
    }
    return encoded;
  }

  private static RawSubgraph subgraph(Subgraph graph) throws VectorFormatException {
    int[] consumers = new int[graph.operands().size()];
    List<RawOperation> operations = new ArrayList<>();
    for (Operation operation : graph.operations()) {
      operation.inputs().forEach(input -> consumers[input]++);
      operations.add(
          new RawOperation(text(operation.type()), operation.inputs(), operation.outputs()));
    }
    List<RawOperand> operands = new ArrayList<>();
    for (Operand operand : graph.operands()) {
      operands.add(operand(operand, consumers[operands.size()]));
    }
    return new RawSubgraph(operands, operations, graph.inputIndexes(), graph.outputIndexes());
  }

  private static String text(OperationType type) {
    return type instanceof ExtensionOperationType extension
        ? extension.text() + "#" + extension.code()
        : type.text();
  }

  private static RawOperand operand(Operand operand, int consumers) throws VectorFormatException {
    Quantization quantization = operand.quantization();
    return new RawOperand(
        operand.name(),
        operand.type().text(),
        dims(operand.shape()),
        quantization.scale(),
        quantization.zeroPoint(),
        channelQuant(quantization),
        operand.lifetime().text(),
        consumers,
        values(operand));
  }

  private static Dims dims(Shape shape) {
    return Dims.of(shape.toArray());
  }

  private static Optional<ChannelQuant> channelQuant(Quantization quantization) {
    if (!(quantization instanceof Quantization.PerChannel perChannel)) {
      return Optional.empty();
    }
    double[] scales = new double[perChannel.scales().length];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = perChannel.scales()[i];
    }
    return Optional.of(new ChannelQuant(perChannel.channelDimension(), Values.owning(scales)));
  }

  private static Optional<Values> values(Operand operand) throws VectorFormatException {
    return switch (operand.lifetime()) {
      case Lifetime.Constant constant ->
          Optional.of(ElementCodec.decode(operand.type(), constant.bytes()));
      case Lifetime.SubgraphReference reference -> Optional.of(Values.of(reference.index()));
      case Lifetime.TemporaryVariable _,
          Lifetime.SubgraphInput _,
          Lifetime.SubgraphOutput _,
          Lifetime.NoValue _ ->
          Optional.empty();
    };
  }
}
