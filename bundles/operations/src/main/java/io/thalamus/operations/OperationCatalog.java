// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperationType;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The operations that are known: NNAPI's, and those of the extensions at hand. Immutable. */
public final class OperationCatalog {
  private static final OperationCatalog STANDARD =
      new OperationCatalog(Map.of()).with(StandardOperations.definitions());

  private final Map<OperationType, OperationDefinition> definitions;

  private OperationCatalog(Map<OperationType, OperationDefinition> definitions) {
    this.definitions = definitions;
  }

  /** NNAPI's own operations. */
  public static OperationCatalog standard() {
    return STANDARD;
  }

  /**
   * These and more.
   *
   * @throws IllegalArgumentException where an operation would be defined twice
   */
  public OperationCatalog with(Collection<? extends OperationDefinition> more) {
    Map<OperationType, OperationDefinition> all = new HashMap<>(definitions);
    for (OperationDefinition definition : more) {
      if (all.putIfAbsent(definition.type(), definition) != null) {
        throw new IllegalArgumentException(definition.type().text() + " is defined twice");
      }
    }
    return new OperationCatalog(Map.copyOf(all));
  }

  /** The definition of an operation, or empty where nobody has defined it. */
  public Optional<OperationDefinition> find(OperationType type) {
    return Optional.ofNullable(definitions.get(type));
  }

  /** All operations that are defined. */
  public Set<OperationType> types() {
    return definitions.keySet();
  }
}
