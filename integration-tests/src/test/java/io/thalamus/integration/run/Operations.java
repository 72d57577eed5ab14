// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.driver.OperationTable.Key;
import io.thalamus.driver.TableDevice;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.Argument;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.Signature;
import io.thalamus.operations.TypeLevels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Writes which operation is there on which types, and which device has it. */
final class Operations implements Proof {
  /** The place of the page, below the project's root. */
  static final String PAGE = "docs/operations.md";

  /** The command that writes it. */
  static final String COMMAND = "integration-tests/run operations --write " + PAGE;

  private static final String TENSOR = "TENSOR_";

  @Override
  public String name() {
    return "operations";
  }

  @Override
  public String purpose() {
    return "operations by operand type and device, from definitions and kernel tables (--write "
        + PAGE
        + ")";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    String file = settings.text("write", "");
    settings.end();
    Map<String, TableDevice> devices = Devices.all();
    Set<OperationType> operations = OperationCatalog.standard().types();
    figures.figure("operations", operations.size());
    long pairs = operations.stream().mapToLong(operation -> types(operation).types().size()).sum();
    figures.figure("operationsOnTypes", pairs);
    devices.forEach(
        (name, device) -> figures.figure("kernels." + name, device.table().keys().size()));
    if (file.isEmpty()) {
      System.out.print(page(devices));
      return;
    }
    Path root = Path.of(System.getProperty("thalamus.root"));
    Files.writeString(root.resolve(file), page(devices));
    figures.figure("written", file);
  }

  private static TypeLevels types(OperationType operation) {
    return OperationCatalog.standard().find(operation).orElseThrow().types();
  }

  /** The whole page. */
  static String page(Map<String, TableDevice> devices) {
    List<String> lines = new ArrayList<>();
    lines.add("# Operations");
    lines.add("");
    lines.add("Written by `" + COMMAND + "` from the definitions in");
    lines.add("`bundles/operations` and the kernel tables of the devices; a test compares.");
    lines.add("");
    lines.add("An operation's type is that of its data, usually the first input; the other");
    lines.add("operands follow from it. Behind a type stands the HAL version that brought it.");
    lines.add("Types begin with `" + TENSOR + "`, where it is left out. Under a device stands");
    lines.add("`all` or what it has kernels for; one that has a type may leave out some forms,");
    lines.add(
        "such as shapes that only an execution determines: `supportedOperations` says for each");
    lines.add("model. An operation that a device does not take goes to another; `cpu` takes all.");
    lines.add("");
    lines.add("## NNAPI");
    lines.add("");
    table(OperationCode.class, devices, lines);
    lines.add("");
    lines.add("## The extension io.thalamus");
    lines.add("");
    table(ExtensionOperationType.class, devices, lines);
    lines.add("");
    lines.add("## Signatures");
    lines.add("");
    lines.add("`T` is the type of the data, one of those above; `[1-4]` are ranks, where they are");
    lines.add(
        "bounded; `?` may be an operand without a value; `...` may be repeated. The arguments");
    lines.add("may end before one that names a HAL version, which brought it; `= -1` is then its");
    lines.add("value. Real numbers beside TENSOR_FLOAT16 are FLOAT16, else FLOAT32.");
    lines.add("");
    OperationCatalog.standard().types().stream()
        .sorted(
            Comparator.comparing((OperationType type) -> type instanceof ExtensionOperationType)
                .thenComparing(Operations::name))
        .forEach(operation -> signature(operation, lines));
    return String.join("\n", lines) + "\n";
  }

  private static void signature(OperationType operation, List<String> lines) {
    OperationDefinition definition = OperationCatalog.standard().find(operation).orElseThrow();
    Signature signature = definition.signature();
    String traits =
        definition.traits().stream()
            .sorted()
            .map(trait -> ", " + trait.name().toLowerCase(Locale.ROOT).replace('_', ' '))
            .collect(Collectors.joining());
    lines.add("- **" + name(operation) + "** " + brief(signature.since()) + traits);
    for (List<Argument> inputs : signature.inputForms()) {
      lines.add("  - " + inputs.stream().map(Operations::text).collect(Collectors.joining(", ")));
    }
    for (List<Argument> outputs : signature.outputForms()) {
      lines.add(
          "  - → " + outputs.stream().map(Operations::text).collect(Collectors.joining(", ")));
    }
  }

  private static String text(Argument argument) {
    StringBuilder text = new StringBuilder(argument.name()).append(" `");
    text.append(argument.type().text());
    if (argument.leastRank() > 0) {
      text.append('[').append(argument.leastRank());
      if (argument.mostRank() > argument.leastRank()) {
        boolean isOpen = argument.mostRank() == Integer.MAX_VALUE;
        text.append('-').append(isOpen ? "" : argument.mostRank());
      }
      text.append(']');
    }
    text.append(argument.isOmittable() ? "?" : "");
    text.append(argument.leastRepetitions().isPresent() ? "..." : "");
    argument.since().ifPresent(level -> text.append(' ').append(brief(level)));
    argument.defaultValue().ifPresent(value -> text.append(" = ").append(value));
    return text.append('`').toString();
  }

  private static String name(OperationType operation) {
    return operation.text().substring(operation.text().indexOf('/') + 1);
  }

  private static void table(
      Class<? extends OperationType> kind, Map<String, TableDevice> devices, List<String> lines) {
    lines.add("| code | operation | types | " + String.join(" | ", devices.keySet()) + " |");
    lines.add("|---:|---|---|" + "---|".repeat(devices.size()));
    OperationCatalog.standard().types().stream()
        .filter(kind::isInstance)
        .sorted(Comparator.comparingInt(Operations::code))
        .forEach(operation -> lines.add(row(operation, devices)));
  }

  private static int code(OperationType operation) {
    return switch (operation) {
      case OperationCode nnapi -> nnapi.code();
      case ExtensionOperationType extension -> extension.code();
    };
  }

  private static String row(OperationType operation, Map<String, TableDevice> devices) {
    TypeLevels levels = types(operation);
    String types =
        levels.types().stream()
            .map(type -> brief(type) + " " + brief(levels.level(type)))
            .collect(Collectors.joining(", "));
    String cells =
        devices.values().stream()
            .map(device -> cell(operation, levels.types(), device))
            .collect(Collectors.joining(" | "));
    return "| " + code(operation) + " | " + name(operation) + " | " + types + " | " + cells + " |";
  }

  private static String cell(OperationType operation, Set<OperandCode> types, TableDevice device) {
    List<String> has =
        types.stream()
            .filter(type -> device.table().keys().contains(new Key(operation, type)))
            .map(Operations::brief)
            .toList();
    return has.size() == types.size() ? "all" : String.join(", ", has);
  }

  private static String brief(OperandCode type) {
    return type.name().startsWith(TENSOR) ? type.name().substring(TENSOR.length()) : type.name();
  }

  private static String brief(FeatureLevel level) {
    return level.name().substring(1).replace('_', '.');
  }
}
