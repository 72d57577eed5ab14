// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.Subgraph;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The operations that are known: NNAPI's, and those of the extensions at hand. Immutable to the
 * outside, and thread-safe: standard operations are defined when they are looked for.
 */
public final class OperationCatalog {
  private static final StandardOperations STANDARD_OPERATIONS = new StandardOperations();
  private static final OperationCatalog STANDARD =
      new OperationCatalog(Map.of(), Set.of(ThalamusExtension.NAME), wideTypes());

  private final Map<OperationType, OperationDefinition> added;
  private final Set<String> extensions;
  private final Map<ExtensionOperandType, ExtensionOperandType> operandTypes;
  private final ModelValidator validator = new ModelValidator(this);

  private OperationCatalog(
      Map<OperationType, OperationDefinition> added,
      Set<String> extensions,
      Map<ExtensionOperandType, ExtensionOperandType> operandTypes) {
    this.added = Map.copyOf(added);
    this.extensions = Set.copyOf(extensions);
    this.operandTypes = Map.copyOf(operandTypes);
  }

  private static Map<ExtensionOperandType, ExtensionOperandType> wideTypes() {
    Map<ExtensionOperandType, ExtensionOperandType> types = new HashMap<>();
    for (ExtensionOperandType type : WideTypes.all()) {
      types.put(type, type);
    }
    return types;
  }

  /** NNAPI's own operations, and those of {@link ThalamusExtension}. */
  public static OperationCatalog standard() {
    return STANDARD;
  }

  /**
   * These and more.
   *
   * @throws IllegalArgumentException where an operation would be defined twice
   */
  public OperationCatalog with(Collection<? extends OperationDefinition> more) {
    Map<OperationType, OperationDefinition> all = new HashMap<>(added);
    for (OperationDefinition definition : more) {
      OperationType type = definition.type();
      if (STANDARD_OPERATIONS.types().contains(type) || all.put(type, definition) != null) {
        throw new IllegalArgumentException(type.text() + " is defined twice");
      }
    }
    return new OperationCatalog(all, extensions, operandTypes);
  }

  /**
   * These and those of an extension.
   *
   * @throws IllegalArgumentException where the extension is known already, or brings what is not
   *     its own
   */
  public OperationCatalog with(OperationExtension extension) {
    String name = extension.name();
    if (extensions.contains(name)) {
      throw new IllegalArgumentException("extension " + name + " is brought twice");
    }
    for (OperationDefinition definition : extension.definitions()) {
      if (!(definition.type() instanceof ExtensionOperationType own)
          || !own.extension().equals(name)) {
        throw new IllegalArgumentException(
            "extension " + name + " brings " + definition.type().text());
      }
    }
    Map<ExtensionOperandType, ExtensionOperandType> types = new HashMap<>(operandTypes);
    for (ExtensionOperandType type : extension.operandTypes()) {
      if (!type.extension().equals(name) || types.put(type, type) != null) {
        throw new IllegalArgumentException("extension " + name + " brings " + type.text());
      }
    }
    Set<String> names = new HashSet<>(extensions);
    names.add(name);
    return new OperationCatalog(with(extension.definitions()).added, names, types);
  }

  /** Returns the definition of an operation, or empty when it has none. */
  public Optional<OperationDefinition> find(OperationType type) {
    OperationDefinition own = added.get(type);
    return Optional.ofNullable(own != null ? own : STANDARD_OPERATIONS.find(type));
  }

  /**
   * Returns the multiply-accumulates of an operation of a graph by the definition of the operation:
   * 0 where there is none, empty where dimensions that they need are open.
   */
  public OptionalLong macs(Subgraph graph, Operation operation) {
    Optional<OperationDefinition> definition = find(operation.type());
    return definition.isEmpty()
        ? OptionalLong.of(0)
        : definition.get().macs(OperationView.of(graph, operation, List.of()));
  }

  /** An operand type as its extension describes it, or empty where that is not at hand. */
  public Optional<ExtensionOperandType> find(ExtensionOperandType type) {
    return Optional.ofNullable(operandTypes.get(type));
  }

  /** Returns the checks of models by these definitions. */
  public ModelValidator validator() {
    return validator;
  }

  /** All operations that are defined. */
  public Set<OperationType> types() {
    return Stream.concat(STANDARD_OPERATIONS.types().stream(), added.keySet().stream())
        .collect(Collectors.toUnmodifiableSet());
  }
}
