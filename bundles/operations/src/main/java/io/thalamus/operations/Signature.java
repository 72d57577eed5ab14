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
  private final List<List<Argument>> inputForms;
  private final List<List<Argument>> outputForms;

  private Signature(
      FeatureLevel since, List<List<Argument>> inputForms, List<List<Argument>> outputForms) {
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

  private static List<List<Argument>> with(List<List<Argument>> forms, List<Argument> form) {
    return Stream.concat(forms.stream(), Stream.of(List.copyOf(form))).toList();
  }

  /** Returns the feature level that brought the operation. */
  public FeatureLevel since() {
    return since;
  }

  /** Returns the forms of the inputs. */
  public List<List<Argument>> inputForms() {
    return inputForms;
  }

  /** Returns the forms of the outputs. */
  public List<List<Argument>> outputForms() {
    return outputForms;
  }

  /** Returns the types of the operation's data; none where no argument is the data. */
  public TypeLevels types() {
    return Stream.concat(inputForms.stream(), outputForms.stream())
        .flatMap(List::stream)
        .flatMap(argument -> argument.data().stream())
        .findFirst()
        .orElse(TypeLevels.NONE);
  }

  /** Returns whether an input may be left out. */
  boolean isOmittable(int input) {
    return inputForms.stream()
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
  private static List<Argument> chosen(List<List<Argument>> forms, List<OperandView> operands) {
    List<Argument> best = List.of();
    int bestFit = -1;
    for (int i = forms.size() - 1; i >= 0 && bestFit < operands.size(); i--) {
      List<Argument> form = forms.get(i);
      if (takes(form, operands.size())) {
        List<Argument> arguments = expanded(form, operands.size());
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

  private static boolean takes(List<Argument> form, int count) {
    int rest = count - form.size();
    int repeated = repeated(form);
    if (repeated >= 0) {
      return rest + 1 >= form.get(repeated).leastRepetitions().getAsInt();
    }
    return rest == 0 || rest < 0 && form.get(count).since().isPresent();
  }

  /** The index of the argument that may be repeated; -1 where there is none. */
  private static int repeated(List<Argument> form) {
    for (int i = 0; i < form.size(); i++) {
      if (form.get(i).leastRepetitions().isPresent()) {
        return i;
      }
    }
    return -1;
  }

  /** A form with as many arguments as there are operands. */
  private static List<Argument> expanded(List<Argument> form, int count) {
    int repeated = repeated(form);
    if (repeated < 0) {
      return count == form.size() ? form : form.subList(0, count);
    }
    List<Argument> arguments = new ArrayList<>(count);
    arguments.addAll(form.subList(0, repeated));
    arguments.addAll(Collections.nCopies(count - form.size() + 1, form.get(repeated)));
    arguments.addAll(form.subList(repeated + 1, form.size()));
    return arguments;
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
      String what,
      List<Argument> arguments,
      List<OperandView> operands,
      Optional<OperandCode> data,
      Check check)
      throws ValidationException {
    for (int i = 0; i < arguments.size(); i++) {
      check.type(what + i, arguments.get(i), operands.get(i), data);
    }
  }

  private static void checkCount(String what, List<List<Argument>> forms, int actual)
      throws ValidationException {
    for (int i = 0; i < forms.size(); i++) {
      if (takes(forms.get(i), actual)) {
        return;
      }
    }
    TreeSet<Integer> counts = new TreeSet<>();
    for (List<Argument> form : forms) {
      for (Argument argument : form) {
        if (argument.leastRepetitions().isPresent()) {
          throw new ValidationException(argument.tooFew());
        }
      }
      for (int count = 0; count <= form.size(); count++) {
        if (takes(form, count)) {
          counts.add(count);
        }
      }
    }
    throw new ValidationException(
        "it has "
            + actual
            + " "
            + what
            + ", but takes "
            + counts.stream().map(Object::toString).collect(Collectors.joining(" or ")));
  }

  /** Checks the data before all else, whose types depend on it. */
  private static Optional<OperandCode> checkData(
      String what, List<Argument> arguments, List<OperandView> operands, Check check)
      throws ValidationException {
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i).data().isPresent()) {
        TypeLevels types = arguments.get(i).data().get();
        return Optional.of(check.data(what + i, types, operands.get(i)));
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
