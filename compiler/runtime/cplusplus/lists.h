/* Chains of std::list: what <bits/stl_list.h> declares, and the C++ library defines. */
#ifndef FARSIDE_RUNTIME_CPLUSPLUS_LISTS_H
#define FARSIDE_RUNTIME_CPLUSPLUS_LISTS_H

#include <list>

/* They are rings: each has a node in the container, which alone leads to itself if there is nothing else. */
namespace farside {

using ListNode = std::__detail::_List_node_base;

inline void link(ListNode *one, ListNode *next) {
    one->_M_next = next;
    next->_M_prev = one;
}

/* Has the ring of one container be that of another; its own node is the only one that it keeps. */
inline void takeRing(ListNode &to, ListNode *first, ListNode *last, bool isEmpty) {
    if (isEmpty) {
        to._M_next = to._M_prev = &to;
        return;
    }
    link(&to, first);
    link(last, &to);
}

} // namespace farside

namespace std {
namespace __detail {

void _List_node_base::swap(_List_node_base &one, _List_node_base &other) noexcept {
    _List_node_base *first = one._M_next, *last = one._M_prev, *otherFirst = other._M_next, *otherLast = other._M_prev;
    bool isEmpty = first == &one, isOtherEmpty = otherFirst == &other;
    farside::takeRing(one, otherFirst, otherLast, isOtherEmpty);
    farside::takeRing(other, first, last, isEmpty);
}

void _List_node_base::_M_transfer(_List_node_base *const first, _List_node_base *const end) noexcept {
    if (end == this || first == end) return;
    _List_node_base *last = end->_M_prev;
    farside::link(first->_M_prev, end);
    farside::link(this->_M_prev, first);
    farside::link(last, this);
}

void _List_node_base::_M_reverse() noexcept {
    _List_node_base *node = this;
    do {
        _List_node_base *next = node->_M_next;
        node->_M_next = node->_M_prev;
        node->_M_prev = next;
        node = next;
    } while (node != this);
}

void _List_node_base::_M_hook(_List_node_base *const before) noexcept {
    farside::link(before->_M_prev, this);
    farside::link(this, before);
}

void _List_node_base::_M_unhook() noexcept { farside::link(this->_M_prev, this->_M_next); }

} // namespace __detail
} // namespace std

#endif
