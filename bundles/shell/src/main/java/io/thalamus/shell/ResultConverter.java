// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.shell.format.Result;
import org.apache.felix.service.command.Converter;
import org.osgi.service.component.annotations.Component;

/** Lets Gogo print results, and pipe them. Stateless. */
@Component(
    service = Converter.class,
    property = Converter.CONVERTER_CLASSES + "=io.thalamus.shell.format.Result")
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
