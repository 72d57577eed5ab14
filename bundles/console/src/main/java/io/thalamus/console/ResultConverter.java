// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import org.apache.felix.service.command.Converter;
import org.osgi.service.component.annotations.Component;

/** The converter by which Gogo prints results and pipes them. Stateless. */
@Component(
    service = Converter.class,
    property = Converter.CONVERTER_CLASSES + "=io.thalamus.console.Result")
public final class ResultConverter implements Converter {
  @Override
  public Object convert(Class<?> desiredType, Object in) {
    return in instanceof Result result && desiredType == String.class ? result.show() : null;
  }

  @Override
  public CharSequence format(Object target, int level, Converter escape) {
    return target instanceof Result result ? result.show() : null;
  }
}
