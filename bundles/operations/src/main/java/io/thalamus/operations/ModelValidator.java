// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Checks whole models by the rules of NNAPI 1.3: operands, index lists, the order of the graph,
 * single writers, references between graphs, and each operation that the catalog defines. An
 * operation that it does not define may be known to others; a device that does not know it refuses
 * it. Thread-safe.
 */
public final class ModelValidator {
  private final OperationCatalog catalog;
  private volatile Valid last = new Valid(new WeakReference<>(null), FeatureLevel.V1_0);

  /** A model that has been checked, and what it needs. */
  private record Valid(WeakReference<Model> model, FeatureLevel level) {}

  ModelValidator(OperationCatalog catalog) {
    this.catalog = catalog;
  }

  /**
   * Checks a model, unless it is the one that was found valid last: the runtime and each device of
   * a process check the same object.
   *
   * @return the least feature level that has all of it, once trailing arguments of operations that
   *     equal their defaults are taken off
   * @throws ValidationException with the first rule that is broken, and where
   */
  public FeatureLevel validate(Model model) throws ValidationException {
    Valid known = last;
    if (known.model().refersTo(model)) {
      return known.level();
    }
    FeatureLevel level = check(model);
    last = new Valid(new WeakReference<>(model), level);
    return level;
  }

  private FeatureLevel check(Model model) throws ValidationException {
    FeatureLevel level = FeatureLevel.V1_0;
    List<Subgraph> subgraphs = model.subgraphs().toList();
    for (int i = 0; i < subgraphs.size(); i++) {
      try {
        level = FeatureLevel.max(level, checkGraph(subgraphs.get(i), model));
      } catch (ValidationException e) {
        throw i == 0 ? e : e.at("referenced graph " + (i - 1));
      }
    }
    checkReferences(model);
    // After the graphs: IF and WHILE look into those that they refer to.
    for (int i = 0; i < subgraphs.size(); i++) {
      try {
        level = FeatureLevel.max(level, checkOperations(subgraphs.get(i), model));
      } catch (ValidationException e) {
        throw i == 0 ? e : e.at("referenced graph " + (i - 1));
      }
    }
    return level;
  }

  private FeatureLevel checkGraph(Subgraph graph, Model model) throws ValidationException {
    FeatureLevel level = FeatureLevel.V1_0;
    for (int i = 0; i < graph.operands().size(); i++) {
      Operand operand = graph.operands().get(i);
      try {
        OperandRules.check(operand, model.referenced().size());
        checkType(operand.type());
      } catch (ValidationException e) {
        throw e.at(place(i, operand));
      } catch (ArithmeticException e) {
        throw tooLarge(e).at(place(i, operand));
      }
    }
    checkInterface(graph, graph.inputIndexes(), "input", Lifetime.SubgraphInput.class);
    checkInterface(graph, graph.outputIndexes(), "output", Lifetime.SubgraphOutput.class);
    checkOrder(graph);
    for (int index : graph.inputIndexes()) {
      level = FeatureLevel.max(level, OperandRules.level(graph.operands().get(index)));
    }
    return level;
  }

  /** An extension's type is what the extension says, where that is at hand. */
  private void checkType(OperandType type) throws ValidationException {
    if (type instanceof ExtensionOperandType given) {
      ExtensionOperandType known = catalog.find(given).orElse(given);
      if (known.isTensor() != given.isTensor() || known.elementSize() != given.elementSize()) {
        throw new ValidationException(
            "%s is a %s of %d bytes, not a %s of %d"
                .formatted(
                    known.text(),
                    known.isTensor() ? "tensor" : "scalar",
                    known.elementSize(),
                    given.isTensor() ? "tensor" : "scalar",
                    given.elementSize()));
      }
    }
  }

  private FeatureLevel checkOperations(Subgraph graph, Model model) throws ValidationException {
    FeatureLevel level = FeatureLevel.V1_0;
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      try {
        level = FeatureLevel.max(level, level(model, graph, operation));
      } catch (ValidationException e) {
        throw e.at("operation " + i + " " + operation.type().text());
      } catch (ArithmeticException e) {
        throw tooLarge(e).at("operation " + i + " " + operation.type().text());
      }
    }
    return level;
  }

  private static String place(int index, Operand operand) {
    return "operand " + index + (operand.name().isEmpty() ? "" : " '" + operand.name() + "'");
  }

  private static ValidationException tooLarge(ArithmeticException cause) {
    ValidationException refused = new ValidationException("its dimensions are beyond counting");
    refused.addSuppressed(cause);
    return refused;
  }

  /**
   * The least feature level that has an operation in the form in which a graph of a model uses it,
   * and the operands that it uses, judged without the trailing arguments that equal their defaults:
   * those are taken off for a device that does not know them.
   *
   * @throws ValidationException where the operation is invalid
   */
  public FeatureLevel level(Model model, Subgraph graph, Operation operation)
      throws ValidationException {
    Optional<OperationDefinition> definition = catalog.find(operation.type());
    FeatureLevel level = FeatureLevel.V1_0;
    int kept = operation.inputs().size();
    if (definition.isPresent()) {
      OperationView view = OperationView.of(model, graph, operation);
      level = definition.get().validate(view);
      kept = DefaultArguments.kept(definition.get(), view);
      if (kept < view.inputs().size()) {
        level = definition.get().validate(view.withInputs(kept));
      }
    } else if (operation.type() instanceof ExtensionOperationType) {
      level = FeatureLevel.V1_2;
    }
    for (int input : operation.inputs().subList(0, kept)) {
      level = FeatureLevel.max(level, OperandRules.level(graph.operands().get(input)));
    }
    for (int output : operation.outputs()) {
      level = FeatureLevel.max(level, OperandRules.level(graph.operands().get(output)));
    }
    return level;
  }

  private static void checkInterface(
      Subgraph graph, List<Integer> indexes, String what, Class<? extends Lifetime> lifetime)
      throws ValidationException {
    Set<Integer> seen = new HashSet<>();
    for (int index : indexes) {
      checkIndex(graph, index, "the graph's " + what + "s");
      if (!seen.add(index)) {
        throw new ValidationException("operand " + index + " is an " + what + " twice");
      }
      Lifetime actual = graph.operands().get(index).lifetime();
      if (!lifetime.isInstance(actual)) {
        throw new ValidationException(
            "operand " + index + " is an " + what + " of the graph, but is " + actual.text());
      }
    }
    for (int i = 0; i < graph.operands().size(); i++) {
      if (lifetime.isInstance(graph.operands().get(i).lifetime()) && !seen.contains(i)) {
        throw new ValidationException(
            "operand " + i + " says it is an " + what + " of the graph, but is not listed");
      }
    }
  }

  private static void checkOrder(Subgraph graph) throws ValidationException {
    boolean[] known = new boolean[graph.operands().size()];
    for (int i = 0; i < known.length; i++) {
      known[i] = !isComputed(graph.operands().get(i).lifetime());
    }
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      String place = "operation " + i + " " + operation.type().text();
      for (int input : operation.inputs()) {
        checkIndex(graph, input, place);
        if (!known[input]) {
          throw new ValidationException(
              place + " reads operand " + input + ", which is not written before");
        }
      }
      for (int output : operation.outputs()) {
        checkIndex(graph, output, place);
        if (!isComputed(graph.operands().get(output).lifetime())) {
          throw new ValidationException(
              "%s writes operand %s, which is %s"
                  .formatted(place, output, graph.operands().get(output).lifetime().text()));
        }
        if (known[output]) {
          throw new ValidationException(
              place + " writes operand " + output + ", which is written before");
        }
        known[output] = true;
      }
    }
    for (int i = 0; i < known.length; i++) {
      if (!known[i]) {
        throw new ValidationException("operand " + i + " is never written");
      }
    }
  }

  private static boolean isComputed(Lifetime lifetime) {
    return lifetime instanceof Lifetime.TemporaryVariable
        || lifetime instanceof Lifetime.SubgraphOutput;
  }

  private static void checkIndex(Subgraph graph, int index, String place)
      throws ValidationException {
    if (index < 0 || index >= graph.operands().size()) {
      throw new ValidationException(
          "%s names operand %s, but there are %s operands"
              .formatted(place, index, graph.operands().size()));
    }
  }

  /** Graphs must not refer to each other in a circle. */
  private static void checkReferences(Model model) throws ValidationException {
    int[] state = new int[model.referenced().size()];
    visit(model, model.main(), state);
  }

  private static void visit(Model model, Subgraph graph, int[] state) throws ValidationException {
    final int open = 1;
    final int done = 2;
    for (Operand operand : graph.operands()) {
      if (operand.lifetime() instanceof Lifetime.SubgraphReference reference) {
        int index = reference.index();
        if (state[index] == open) {
          throw new ValidationException(
              "referenced graph " + index + " refers to itself, directly or through others");
        }
        if (state[index] != done) {
          state[index] = open;
          visit(model, model.referenced().get(index), state);
          state[index] = done;
        }
      }
    }
  }
}
