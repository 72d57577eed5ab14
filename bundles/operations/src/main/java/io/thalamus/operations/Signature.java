// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The inputs and outputs of an operation, as data: their names, types, ranks, quantization and
 * feature levels. Some operations take their arguments in several forms, such as a padding scheme
 * or explicit paddings. Immutable.
 */
public final class Signature {
  private final FeatureLevel since;
  private final List<Form> inputForms;
  private final List<Form> outputForms;

  /**
   * A form of the inputs or outputs.
   *
   * @param repeated the index of the argument that may be repeated; -1 where there is none
   */
  private record Form(List<Argument> arguments, int repeated) {
    static Form of(List<Argument> arguments) {
      int repeated = arguments.size() - 1;
      while (repeated >= 0 && arguments.get(repeated).leastRepetitions().isEmpty()) {
        repeated--;
      }
      return new Form(List.copyOf(arguments), repeated);
    }

    boolean takes(int count) {
      int rest = count - arguments.size();
      if (repeated >= 0) {
        return rest + 1 >= arguments.get(repeated).leastRepetitions().getAsInt();
      }
      return rest == 0 || rest < 0 && arguments.get(count).since().isPresent();
    }

    /** Returns as many arguments as there are operands. */
    List<Argument> expanded(int count) {
      if (repeated < 0) {
        return count == arguments.size() ? arguments : arguments.subList(0, count);
      }
      List<Argument> expanded = new ArrayList<>(count);
      expanded.addAll(arguments.subList(0, repeated));
      expanded.addAll(Collections.nCopies(count - arguments.size() + 1, arguments.get(repeated)));
      expanded.addAll(arguments.subList(repeated + 1, arguments.size()));
      return expanded;
    }
  }

  private Signature(FeatureLevel since, List<Form> inputForms, List<Form> outputForms) {
    this.since = since;
    this.inputForms = inputForms;
    this.outputForms = outputForms;
  }

  /** Returns a signature without arguments of an operation that exists since a feature level. */
  public static Signature since(FeatureLevel level) {
    return new Signature(level, List.of(), List.of());
  }

  /** Returns this signature with a form of the inputs, in their order. */
  public Signature inputs(Argument... inputs) {
    return inputs(List.of(inputs));
  }

  /** Returns this signature with a form of the inputs, in their order. */
  public Signature inputs(List<Argument> inputs) {
    return new Signature(since, with(inputForms, inputs), outputForms);
  }

  /** Returns this signature with a form of the outputs, in their order. */
  public Signature outputs(Argument... outputs) {
    return new Signature(since, inputForms, with(outputForms, List.of(outputs)));
  }

  private static List<Form> with(List<Form> forms, List<Argument> form) {
    List<Form> more = new ArrayList<>(forms);
    more.add(Form.of(form));
    return more;
  }

  /** Returns the feature level that brought the operation. */
  public FeatureLevel since() {
    return since;
  }

  /** Returns the forms of the inputs. */
  public List<List<Argument>> inputForms() {
    return arguments(inputForms);
  }

  /** Returns the forms of the outputs. */
  public List<List<Argument>> outputForms() {
    return arguments(outputForms);
  }

  private static List<List<Argument>> arguments(List<Form> forms) {
    return forms.stream().map(Form::arguments).toList();
  }

  /** Returns the types of the operation's data; none where no argument is the data. */
  public TypeLevels types() {
    return Stream.concat(inputForms.stream(), outputForms.stream())
        .flatMap(form -> form.arguments().stream())
        .flatMap(argument -> argument.data().stream())
        .findFirst()
        .orElse(TypeLevels.NONE);
  }

  /** Returns whether an input may be left out. */
  boolean isOmittable(int input) {
    return inputForms.stream()
        .map(Form::arguments)
        .anyMatch(form -> input < form.size() && form.get(input).isOmittable());
  }

  /** Returns the operand that is the data: the first input where the signature names none. */
  OperandView data(OperationView operation) {
    return find(inputs(operation), operation.inputs())
        .or(() -> find(outputs(operation), operation.outputs()))
        .orElseGet(() -> operation.input(0));
  }

  private static Optional<OperandView> find(List<Argument> arguments, List<OperandView> operands) {
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i).data().isPresent()) {
        return Optional.of(operands.get(i));
      }
    }
    return Optional.empty();
  }

  /** Returns the argument that each input of an operation is, which has a number that is taken. */
  public List<Argument> inputs(OperationView operation) {
    return chosen(inputForms, operation.inputs());
  }

  /** Returns the argument that each output of an operation is, which has a number that is taken. */
  public List<Argument> outputs(OperationView operation) {
    return chosen(outputForms, operation.outputs());
  }

  /** The form that has so many arguments and whose types fit longest; the later of two alike. */
  private static List<Argument> chosen(List<Form> forms, List<OperandView> operands) {
    List<Argument> best = List.of();
    int bestFit = -1;
    for (int i = forms.size() - 1; i >= 0 && bestFit < operands.size(); i--) {
      Form form = forms.get(i);
      if (form.takes(operands.size())) {
        List<Argument> arguments = form.expanded(operands.size());
        int fit = forms.size() == 1 ? operands.size() : fit(arguments, operands);
        if (fit > bestFit) {
          best = arguments;
          bestFit = fit;
        }
      }
    }
    return best;
  }

  /** Counts the arguments from the first on that may have the types of the operands. */
  private static int fit(List<Argument> arguments, List<OperandView> operands) {
    int fit = 0;
    while (fit < arguments.size() && arguments.get(fit).type().mayBe(operands.get(fit).type())) {
      fit++;
    }
    return fit;
  }

  /** Checks an operation against all rules of the signature. */
  void check(OperationView operation, Check check) throws ValidationException {
    List<Argument> inputs = inputs(operation);
    List<Argument> outputs = outputs(operation);
    Optional<OperandCode> data = checkTypes(operation, inputs, outputs, check);
    for (int i = 0; i < inputs.size(); i++) {
      check.value(i, inputs.get(i), operation.input(i));
    }
    for (int i = 0; i < outputs.size(); i++) {
      checkResult(outputs.get(i), operation.output(i), inputs, operation, data, check);
    }
  }

  /** Checks the number of arguments and their types, and returns that of the data. */
  Optional<OperandCode> checkTypes(
      OperationView operation, List<Argument> inputs, List<Argument> outputs, Check check)
      throws ValidationException {
    checkCount("inputs", inputForms, operation.inputs().size());
    checkCount("outputs", outputForms, operation.outputs().size());
    for (int i = 0; i < inputs.size(); i++) {
      check.presence(i, inputs.get(i), operation.input(i));
    }
    Optional<OperandCode> data = checkData("input ", inputs, operation.inputs(), check);
    if (data.isEmpty()) {
      data = checkData("output ", outputs, operation.outputs(), check);
    }
    checkTypes("input ", inputs, operation.inputs(), data, check);
    checkTypes("output ", outputs, operation.outputs(), data, check);
    return data;
  }

  private static void checkTypes(
      String side,
      List<Argument> arguments,
      List<OperandView> operands,
      Optional<OperandCode> data,
      Check check)
      throws ValidationException {
    for (int i = 0; i < arguments.size(); i++) {
      check.type(side, i, arguments.get(i), operands.get(i), data);
    }
  }

  private static void checkCount(String what, List<Form> forms, int actual)
      throws ValidationException {
    for (int i = 0; i < forms.size(); i++) {
      if (forms.get(i).takes(actual)) {
        return;
      }
    }
    TreeSet<Integer> counts = new TreeSet<>();
    for (Form form : forms) {
      for (Argument argument : form.arguments()) {
        if (argument.leastRepetitions().isPresent()) {
          throw new ValidationException(argument.tooFew());
        }
      }
      for (int count = 0; count <= form.arguments().size(); count++) {
        if (form.takes(count)) {
          counts.add(count);
        }
      }
    }
    throw new ValidationException(
        "it has %s %s, but takes %s"
            .formatted(
                actual,
                what,
                counts.stream().map(Object::toString).collect(Collectors.joining(" or "))));
  }

  /** Checks the data before all else, whose types depend on it. */
  private static Optional<OperandCode> checkData(
      String side, List<Argument> arguments, List<OperandView> operands, Check check)
      throws ValidationException {
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i).data().isPresent()) {
        TypeLevels types = arguments.get(i).data().get();
        return Optional.of(check.data(side, i, types, operands.get(i)));
      }
    }
    return Optional.empty();
  }

  private static void checkResult(
      Argument output,
      OperandView actual,
      List<Argument> inputs,
      OperationView operation,
      Optional<OperandCode> data,
      Check check)
      throws ValidationException {
    boolean isLike = output.quantizedAs().isPresent() || output.shapedAs().isPresent();
    for (int i = 0; isLike && i < inputs.size(); i++) {
      if (output.quantizedAs().filter(inputs.get(i).name()::equals).isPresent()) {
        check.sameQuantization(operation.input(i), actual);
      }
      if (output.shapedAs().filter(inputs.get(i).name()::equals).isPresent()) {
        check.sameShape(operation.input(i), actual);
      }
    }
    if (data.isPresent()) {
      check.quantization(output.quantization(data.get()), actual);
    }
  }
}
