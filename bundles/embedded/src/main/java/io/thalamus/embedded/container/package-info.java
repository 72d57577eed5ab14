// SPDX-License-Identifier: Apache-2.0
/** The inside of {@code io.thalamus.embedded}; not for programs. */
package io.thalamus.embedded.container;
