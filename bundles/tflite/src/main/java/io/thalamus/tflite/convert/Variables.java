// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.tflite.file.FlatGraph;
import io.thalamus.tflite.file.FlatModel;
import io.thalamus.tflite.file.FlatOperator;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.CallOnceOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.VarHandleOptions;

/**
 * Variables. One that is set by the graph that CALL_ONCE names, and read from then on, is a
 * constant: exporters leave weights so. Another is a state: an input of the model, which comes
 * behind those of the file, and an output with its value afterwards; what the graph sets it to is
 * its first value. A handle is an operand that holds the number of its variable, which graphs hand
 * on. One for each model; not thread-safe.
 */
final class Variables {
  /** Stands for a variable whose handle is given to a graph. */
  private static final String ANY = "\0";

  private final List<String> names = new ArrayList<>();
  private final Set<String> assigned;
  private final Map<Integer, First> values = new HashMap<>();
  private final Map<Integer, Integer> inputs = new LinkedHashMap<>();
  private final Map<Integer, Integer> states = new HashMap<>();
  private final Map<Integer, Lifetime.Constant> firstValues = new HashMap<>();
  private final Map<Integer, FlatTensor> kept = new HashMap<>();
  private boolean isSetting;

  /** The variables of a file, of which some graphs set some in each call. */
  Variables(FlatModel file) {
    Set<Integer> initial = new HashSet<>();
    for (FlatGraph graph : file.graphs()) {
      for (FlatOperator operator : graph.operators()) {
        if (operator.kind().code() == BuiltinOperator.CALL_ONCE) {
          CallOnceOptions options = operator.options(new CallOnceOptions());
          initial.add(operator.checked().get(options::initSubgraphIndex));
        }
      }
    }
    assigned = new HashSet<>();
    for (FlatGraph graph : file.graphs()) {
      if (!initial.contains(graph.index())) {
        assigned.addAll(assigned(graph));
      }
    }
  }

  private static Set<String> assigned(FlatGraph graph) {
    Map<Integer, String> handles = new HashMap<>();
    Set<String> assigned = new HashSet<>();
    for (FlatOperator operator : graph.operators()) {
      int code = operator.kind().code();
      if (code == BuiltinOperator.VAR_HANDLE && operator.outputs().length == 1) {
        handles.put(operator.outputs()[0], name(operator));
      } else if (code == BuiltinOperator.ASSIGN_VARIABLE && operator.inputs().length == 2) {
        assigned.add(handles.getOrDefault(operator.inputs()[0], ANY));
      }
    }
    return assigned;
  }

  private static String name(FlatOperator operator) {
    VarHandleOptions options = operator.options(new VarHandleOptions());
    String container = operator.checked().get(options::container);
    String name = operator.checked().get(options::sharedName);
    return container == null || container.isEmpty() ? "" + name : container + "/" + name;
  }

  /**
   * What a variable is set to.
   *
   * @param tensor a constant of the file; null where the value was derived
   * @param operand the value, where there is no such tensor
   */
  private record First(FlatTensor tensor, Operand operand) {}

  /** The values of states at a moment, for {@link #restore}. */
  record Moment(Map<Integer, Integer> inputs, Map<Integer, Integer> states) {}

  Moment moment() {
    return new Moment(new LinkedHashMap<>(inputs), new HashMap<>(states));
  }

  void restore(Moment moment) {
    inputs.clear();
    inputs.putAll(moment.inputs());
    states.clear();
    states.putAll(moment.states());
  }

  /** The inputs of the model that give states. */
  Collection<Integer> inputs() {
    return inputs.values();
  }

  /** For each of these inputs the operand that holds the state afterwards. */
  List<Integer> results() {
    return inputs.keySet().stream().map(states::get).toList();
  }

  /**
   * Finds what states begin with.
   *
   * @param builder with the inputs that give states
   * @param before the number of inputs of the model before these
   */
  void findFirstValues(SubgraphBuilder builder, Constants constants, int before) {
    int index = before;
    for (Map.Entry<Integer, Integer> input : inputs.entrySet()) {
      Operand state = builder.get(input.getValue());
      First first = values.get(input.getKey());
      FlatTensor tensor = kept.get(input.getKey());
      if (state.isSizeKnown() && first != null) {
        firstValues.put(index, firstValue(constants, state, first));
      } else if (state.isSizeKnown() && tensor != null && constants.hasRoom(state.byteSize())) {
        // TensorFlow Lite's own zeros, even of unsigned integers.
        int zero = tensor.is(TensorType.INT8) ? state.quantization().zeroPoint() : 0;
        firstValues.put(index, constants.filled(state.byteSize(), zero, tensor));
      }
      index++;
    }
  }

  private static Lifetime.Constant firstValue(Constants constants, Operand state, First first) {
    Lifetime.Constant value;
    if (first.tensor() == null) {
      value = (Lifetime.Constant) first.operand().lifetime();
    } else if (Wide16.isQuantized(first.tensor())) {
      value = constants.floats(first.tensor());
    } else {
      value = constants.value(first.tensor());
    }
    if (value.bytes().byteSize() != state.byteSize()) {
      throw new Refusal(
          "the first value of variable '%s' has %d bytes, and it is %s"
              .formatted(state.name(), value.bytes().byteSize(), state.text()));
    }
    return value;
  }

  /** By the number of the model's input, what states begin with. */
  Map<Integer, Lifetime.Constant> firstValues() {
    return firstValues;
  }

  static void addTo(Converters table) {
    table.add(BuiltinOperator.CALL_ONCE, node -> node.model().variables().callOnce(node));
    table.add(BuiltinOperator.VAR_HANDLE, node -> node.model().variables().handle(node));
    table.add(BuiltinOperator.READ_VARIABLE, node -> node.model().variables().read(node));
    table.add(BuiltinOperator.ASSIGN_VARIABLE, node -> node.model().variables().assign(node));
  }

  private void callOnce(Node node) {
    CallOnceOptions options = node.options(new CallOnceOptions());
    int graph = node.get(options::initSubgraphIndex);
    boolean wasSetting = isSetting;
    isSetting = true;
    try {
      node.model().within(graph, found -> node.graph().inner(found).inline(List.of()));
    } finally {
      isSetting = wasSetting;
    }
  }

  private void handle(Node node) {
    String name = name(node.operator());
    if (!names.contains(name)) {
      names.add(name);
    }
    node.alias(0, node.int32Vector(names.indexOf(name)));
  }

  private int variable(Node node) {
    int variable = node.isKnown(0) ? node.onlyInt(0) : -1;
    node.require(variable >= 0 && variable < names.size(), "its variable is not known beforehand");
    return variable;
  }

  private boolean isState(int variable) {
    return assigned.contains(ANY) || assigned.contains(names.get(variable));
  }

  private void assign(Node node) {
    int variable = variable(node);
    if (!isSetting) {
      state(node, variable, node.input(1));
      states.put(variable, node.in(1));
      return;
    }
    if (node.input(1).isConstant()) {
      values.put(variable, new First(node.input(1), null));
      return;
    }
    Operand value = node.inOperand(1);
    node.require(
        value.lifetime() instanceof Lifetime.Constant,
        "the first value of variable '" + names.get(variable) + "' is not known beforehand");
    values.put(variable, new First(null, value));
  }

  private void read(Node node) {
    int variable = variable(node);
    FlatTensor output = node.output(0);
    First value = values.get(variable);
    if (isState(variable) && !(isSetting && value != null)) {
      node.alias(0, state(node, variable, output));
      return;
    }
    node.require(value != null, "variable '" + names.get(variable) + "' has no value yet");
    if (value.tensor() != null) {
      node.graph().standIn(output.index(), value.tensor().at(output.index()));
    } else {
      node.alias(0, node.builder().operand(value.operand()));
    }
  }

  /** The operand of a tensor that keeps its value from call to call, which is a state too. */
  int kept(Node node, FlatTensor tensor) {
    return kept(node, tensor, Wide16.isQuantized(tensor));
  }

  /** The same, where integers of 16 bits are no reals either. */
  int keptAsStored(Node node, FlatTensor tensor) {
    return kept(node, tensor, false);
  }

  private int kept(Node node, FlatTensor tensor, boolean isReal) {
    node.require(tensor.isVariable(), tensor.text() + " is no variable, as a state has to be");
    return state(node, variableOf(tensor), tensor, isReal);
  }

  /** Sets what {@link #kept} gives from now on. */
  void keep(FlatTensor tensor, int operand) {
    states.put(variableOf(tensor), operand);
  }

  /** The number of a tensor's variable; tensors may have the same name, or none. */
  private int variableOf(FlatTensor tensor) {
    for (Map.Entry<Integer, FlatTensor> known : kept.entrySet()) {
      if (known.getValue().equals(tensor)) {
        return known.getKey();
      }
    }
    String base = tensor.name().isEmpty() ? "state" : tensor.name();
    String name = base;
    for (int i = 2; names.contains(name); i++) {
      name = base + " " + i;
    }
    names.add(name);
    kept.put(names.size() - 1, tensor);
    return names.size() - 1;
  }

  /** The operand of a state, which is an input of the model before it is set. */
  private int state(Node node, int variable, FlatTensor like) {
    First value = values.get(variable);
    FlatTensor tensor = value == null || value.tensor() == null ? like : value.tensor();
    return state(node, variable, like, Wide16.isQuantized(tensor));
  }

  private int state(Node node, int variable, FlatTensor like, boolean isReal) {
    Integer known = states.get(variable);
    if (known != null) {
      return known;
    }
    node.require(
        node.graph().isOfMain(),
        "a state is read or set in a loop or branch of which only an execution tells the course");
    First value = values.get(variable);
    FlatTensor tensor = value == null || value.tensor() == null ? like : value.tensor();
    Shape shape =
        value == null || value.tensor() != null
            ? TensorTypes.shape(tensor)
            : value.operand().shape();
    int operand =
        node.builder()
            .operand(
                new Operand(
                    isReal ? OperandCode.TENSOR_FLOAT32 : TensorTypes.code(tensor),
                    shape,
                    isReal ? Quantization.NONE : TensorTypes.quantization(tensor),
                    Lifetime.SUBGRAPH_INPUT,
                    names.get(variable)));
    inputs.put(variable, operand);
    states.put(variable, operand);
    return operand;
  }
}
